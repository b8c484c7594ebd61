// Browsers start no workers for pages that are read from a disk. There the search runs in a hidden frame instead,
// which speaks like a worker: messages go in by postMessage, and come out at onmessage, copied on the way.
if (location.protocol === "file:") {
  window.Worker = class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = this.onmessageerror = null;
      this.waiting = [];
      const frame = (this.frame = document.createElement("iframe"));
      frame.hidden = true;
      frame.onload = () => this.start(String(url));
      frame.srcdoc = "<!doctype html>";
      (document.body || document.documentElement).append(frame);
    }

    start(url) {
      const inside = this.frame.contentWindow;
      // The script's own postMessage is the way out.
      inside.postMessage = (data) => {
        const copy = structuredClone(data);
        setTimeout(() => this.deliver("message", copy));
      };
      const script = inside.document.createElement("script");
      script.src = url;
      script.onerror = () => this.deliver("error");
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      };
      inside.document.head.append(script);
    }

    deliver(type, data) {
      const event = new MessageEvent(type, { data });
      this["on" + type]?.(event);
      this.dispatchEvent(event);
    }

    postMessage(data) {
      if (this.waiting) return void this.waiting.push(data);
      const inside = this.frame.contentWindow;
      const copy = structuredClone(data);
      setTimeout(() => inside?.dispatchEvent(new MessageEvent("message", { data: copy })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
