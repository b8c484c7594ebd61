"""How fast collections and runs are read, beside the bare parser and beside ir-measures, in one run.

python benchmarks/reading.py [--documents 1000000] [--rows 1000000] [--lines 7000000] [--pdfs 1000] [--repeats 3]

Files are made with a fixed seed in a temporary folder. Each contender reads in a process of its own, by turns; medians
of CPU seconds and the growth of resident memory during the reading are printed. 0 leaves a part out. PDF files are read
from two folders, one with a tenth of the files, and the peaks of memory are compared.
"""

from __future__ import annotations

import argparse
import csv
import random
import statistics
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import orjson

VOCABULARY = 20_000
PAGES = 5

MEASURED = """
import resource, sys, time
path = sys.argv[1]
{setup}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.process_time()
{body}
seconds = time.process_time() - started
print(seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""

PEAK = """
import resource, sys, time
from rankwell import read_documents
path, started = sys.argv[1], time.process_time()
{body}
print(time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""

DOCUMENTS = {
    "orjson, bare": ("import orjson", "for line in open(path, 'rb'):\n    orjson.loads(line)"),
    "rankwell": ("from rankwell import read_documents", "for document in read_documents(path):\n    pass"),
}
TABLES = {
    "csv.reader, bare": (
        "import csv",
        "for row in csv.reader(open(path, encoding='utf-8', newline='')):\n    pass",
    ),
    "rankwell": DOCUMENTS["rankwell"],
}
RUNS = {
    "ir-measures, read": ("import ir_measures", "for row in ir_measures.read_trec_run(path):\n    pass"),
    "ir-measures, kept": ("import ir_measures", "run = list(ir_measures.read_trec_run(path))"),
    "rankwell": ("from rankwell import read_run", "run = read_run(path)"),
}


def main() -> None:
    """Make the files, let the contenders read them by turns, print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--lines", type=int, default=7_000_000)
    parser.add_argument("--pdfs", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.documents:
            documents = Path(folder) / "corpus.jsonl"
            write_documents(documents, options.documents)
            contest(f"{options.documents:,} documents as JSON lines", documents, DOCUMENTS, options.repeats)
            documents.unlink()
        if options.rows:
            table = Path(folder) / "table.csv"
            write_table(table, options.rows)
            contest(f"a CSV table of {options.rows:,} rows", table, TABLES, options.repeats)
            table.unlink()
        if options.lines:
            run = Path(folder) / "run.trec"
            write_run(run, options.lines)
            contest(f"a TREC run of {options.lines:,} lines", run, RUNS, options.repeats)
            run.unlink()
        if options.pdfs:
            compare_pdfs(Path(folder), options.pdfs)


def contest(what: str, path: Path, contenders: dict[str, tuple[str, str]], repeats: int) -> None:
    """Each contender in turn, several times; the first is the one to compare with."""
    print(f"\n{what}, {path.stat().st_size / 1e6:,.0f} MB, median of {repeats}")
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    memory: dict[str, float] = {}
    for _ in range(repeats):
        for name, (setup, body) in contenders.items():
            program = MEASURED.format(setup=setup, body=body)
            done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
            spent, grown = map(float, done.stdout.split())
            seconds[name].append(spent)
            memory[name] = max(grown, memory.get(name, 0.0))
    peer = statistics.median(next(iter(seconds.values())))
    for name, spent in seconds.items():
        median = statistics.median(spent)
        print(f"  {name:18} {median:7.2f} s   {peer / median:5.2f}x   memory +{memory[name]:,.0f} MB")


def compare_pdfs(folder: Path, count: int) -> None:
    """The peak memory of many PDF files, beside that of a tenth of them."""
    print(f"\nPDF files of {PAGES} pages")
    peaks = []
    for number in (count // 10, count):
        inside = folder / f"pdfs-{number}"
        inside.mkdir()
        for place in range(number):
            (inside / f"{place}.pdf").write_bytes(pdf_of(place))
        program = PEAK.format(body=DOCUMENTS["rankwell"][1])
        done = subprocess.run([sys.executable, "-c", program, inside], capture_output=True, text=True, check=True)
        seconds, peak = map(float, done.stdout.split())
        peaks.append(peak)
        print(f"  {number:6,} files       {seconds:7.2f} s   peak memory {peak:,.1f} MB")
    print(f"  peak of {count:,} beside {count // 10:,}: {peaks[1] / peaks[0]:.3f}")


def pdf_of(seed: int) -> bytes:
    """A PDF file with 40 lines of text on each page."""
    chooser = random.Random(seed)  # noqa: S311 -- reproducible text, not a secret
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for _ in range(PAGES):
        lines = [" ".join(f"w{chooser.randrange(VOCABULARY)}" for _ in range(12)) for _ in range(40)]
        drawn = "BT /F1 9 Tf 14 TL 50 760 Td " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
        packed = zlib.compress(drawn.encode())
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed))
        fonts = b"/Resources << /Font << /F1 3 0 R >> >>"
        page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] %b /Contents %d 0 R >>"
        objects.append(page % (fonts, len(objects)))
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%b] >>" % (len(kids), b" ".join(kids))
    content, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table, size = b"".join(b"%010d 00000 n \n" % place for place in places), len(objects) + 1
    end = b"xref\n0 %d\n0000000000 65535 f \n%btrailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return content + end % (size, table, size, len(content))


def write_table(path: Path, count: int) -> None:
    """A table as people have them: a code, a title, a text of 20 to 60 words, a category, a price and a date."""
    chooser = random.Random(1)  # noqa: S311 -- reproducible text, not a secret
    words = [f"w{number}" for number in range(VOCABULARY)]
    stock = chooser.choices(words, [1 / (number + 1) for number in range(VOCABULARY)], k=200_000)
    kinds = ("garden", "kitchen", "office", "workshop")
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["sku", "name", "details", "kind", "price", "changed"])
        for number in range(count):
            start = chooser.randrange(len(stock) - 400)
            title, text = stock[start : start + 5], stock[start + 5 : start + 25 + chooser.randrange(40)]
            date = f"20{chooser.randrange(10, 25)}-{chooser.randrange(1, 13):02d}-{chooser.randrange(1, 29):02d}"
            price = f"{chooser.randrange(1, 50_000) / 100:.2f}"
            rows.writerow([f"A-{number}", " ".join(title), ", ".join(text), chooser.choice(kinds), price, date])


def write_documents(path: Path, count: int) -> None:
    """BEIR documents of about 150 words, whose words are drawn as words are: few often, many rarely."""
    chooser = random.Random(1)  # noqa: S311 -- reproducible text, not a secret
    words = [f"w{number}" for number in range(VOCABULARY)]
    weights = [1 / (number + 1) for number in range(VOCABULARY)]
    stock = chooser.choices(words, weights, k=200_000)
    with path.open("wb") as file:
        for number in range(count):
            start = chooser.randrange(len(stock) - 400)
            size = chooser.randrange(50, 250)
            title, text = stock[start : start + 10], stock[start + 10 : start + 10 + size]
            file.write(orjson.dumps({"_id": f"d{number}", "title": " ".join(title), "text": " ".join(text)}) + b"\n")


def write_run(path: Path, lines: int) -> None:
    """A thousand documents a query, scores falling, as MS MARCO runs are."""
    chooser = random.Random(1)  # noqa: S311 -- reproducible numbers
    with path.open("w") as file:
        for query in range(lines // 1000):
            scores = sorted((chooser.random() * 20 for _ in range(1000)), reverse=True)
            docnos = chooser.sample(range(8_841_823), 1000)
            file.writelines(
                f"{query} Q0 {docno} {rank} {score:.6f} tag\n"
                for rank, (docno, score) in enumerate(zip(docnos, scores, strict=True), 1)
            )


if __name__ == "__main__":
    main()
