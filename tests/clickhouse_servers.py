"""Real ClickHouse servers for tests and benchmarks: a cluster on this machine, in a folder of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from needs import require
from waiting import wait_until

PROGRAM = "clickhouse-server"
ZOOKEEPER = Path("/usr/share/java/zookeeper.jar")
PATIENCE = 60  # seconds
NAME = "three"
READER, PASSWORD = "reader", "it's \\ a secret"

CONFIG = """<yandex>
<logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><interserver_http_port>{between}</interserver_http_port>
<listen_host>127.0.0.1</listen_host>{secure}
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>100000000</mark_cache_size><max_concurrent_queries>100</max_concurrent_queries>
<remote_servers><{name}>{shards}</{name}></remote_servers>{keeper}
</yandex>"""
KEEPER = """<zookeeper><node><host>127.0.0.1</host><port>{port}</port></node></zookeeper>
<interserver_http_host>127.0.0.1</interserver_http_host>
<macros><shard>{shard}</shard><replica>{replica}</replica></macros>"""
SECURE = """<https_port>{port}</https_port><openSSL><server><certificateFile>{certificate}</certificateFile>
<privateKeyFile>{key}</privateKeyFile><verificationMode>none</verificationMode><loadDefaultCAFile>false</loadDefaultCAFile>
<cacheSessions>true</cacheSessions></server></openSSL>"""
USERS = f"""<yandex><profiles><default><max_memory_usage>4000000000</max_memory_usage></default></profiles>
<users>
<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
</default>
<{READER}><password>{PASSWORD}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
<quota>default</quota></{READER}>
</users><quotas><default/></quotas></yandex>"""


class Node:
    """One server."""

    def __init__(self, folder: Path, http: int, tcp: int) -> None:
        self.folder, self.http, self.tcp = folder, http, tcp
        self.https = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin; `wait` waits until it answers."""
        command = [PROGRAM, f"--config-file={self.folder}/config.xml"]
        with (self.folder / "output").open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output)

    def wait(self) -> None:
        """Until it answers."""
        wait_until(self._answers, lambda: (self.folder / "output").read_text()[-2000:], patience=PATIENCE, pause=0.05)

    def _answers(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.http}/", timeout=5) as answer:
                answer.read()
                return True
        except (URLError, OSError):
            return False

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    @property
    def dead(self) -> bool:
        """Whether it was killed, or never started."""
        return self._process is None

    def kill(self) -> None:
        """At once, as a power failure would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None


class Cluster:
    """So many shards of so many replicas each, which a Keeper at a port helps to keep alike."""

    def __init__(self, folder: Path, shards: int, replicas: int, *, secure: bool = False, keeper: int = 0) -> None:
        ports = iter(_free_ports(4 * shards * replicas))
        self.shards = [
            [Node(folder / f"{shard}-{replica}", next(ports), next(ports)) for replica in range(replicas)]
            for shard in range(shards)
        ]
        self.certificate = folder / "certificate.pem"
        described = "".join(
            f"<shard><internal_replication>{str(bool(keeper)).lower()}</internal_replication>"
            + "".join(f"<replica><host>127.0.0.1</host><port>{node.tcp}</port></replica>" for node in shard)
            + "</shard>"
            for shard in self.shards
        )
        if secure:
            _certify(self.certificate, folder / "key.pem")
        for node in self.nodes:
            shard, replica = node.folder.name.split("-")
            node.folder.mkdir(parents=True)
            node.https = next(ports)
            files = {"certificate": self.certificate, "key": folder / "key.pem", "port": node.https}
            config = CONFIG.format(
                folder=node.folder,
                http=node.http,
                tcp=node.tcp,
                between=next(ports),
                secure=SECURE.format(**files) if secure else "",
                name=NAME,
                shards=described,
                keeper=KEEPER.format(port=keeper, shard=shard, replica=replica) if keeper else "",
            )
            (node.folder / "config.xml").write_text(config)
            (node.folder / "users.xml").write_text(USERS)

    @property
    def nodes(self) -> list[Node]:
        return [node for shard in self.shards for node in shard]

    def start(self) -> None:
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.wait()

    def stop(self) -> None:
        for node in self.nodes:
            node.kill()

    def address(self, database: str, **options: object) -> str:
        hosts = ",".join(f"127.0.0.1:{node.http}" for node in self.nodes)
        chosen = {"cluster": NAME, **options}
        return f"clickhouse://{hosts}/{database}?" + "&".join(f"{name}={value}" for name, value in chosen.items())


@contextmanager
def running_cluster(
    folder: Path, shards: int, replicas: int, *, secure: bool = False, keeper: int = 0
) -> Iterator[Cluster]:
    """A cluster, until the end of the block."""
    cluster = Cluster(folder, shards, replicas, secure=secure, keeper=keeper)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@contextmanager
def running_keeper(folder: Path) -> Iterator[int]:
    """A ZooKeeper of its own, until the end of the block; its port."""
    [port] = _free_ports(1)
    folder.mkdir(parents=True)
    settings = ["tickTime=2000", f"dataDir={folder}", "clientPortAddress=127.0.0.1", f"clientPort={port}"]
    settings += ["admin.enableServer=false", "4lw.commands.whitelist=srvr", "forceSync=no"]
    (folder / "zoo.cfg").write_text("\n".join(settings))
    command = ["java", "-Xmx128m", "-cp", str(ZOOKEEPER), "org.apache.zookeeper.server.quorum.QuorumPeerMain"]
    with (folder / "output").open("ab") as output:
        process = subprocess.Popen([*command, str(folder / "zoo.cfg")], stdout=output, stderr=output)
    try:

        def said() -> str:
            return (folder / "output").read_text()[-2000:]

        wait_until(lambda: process.poll() is not None or _serves(port), said, patience=PATIENCE, pause=0.05)
        assert process.poll() is None, said()
        yield port
    finally:
        process.kill()
        process.wait()


def need_keeper() -> None:
    """Skip where there is no ZooKeeper."""
    there = shutil.which("java") is not None and ZOOKEEPER.exists()
    require("zookeeper", there=there, how="install Debian's zookeeper")


def need_servers() -> None:
    """Skip where there is no ClickHouse server."""
    where = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
    require("clickhouse", there=shutil.which(PROGRAM, path=where) is not None, how=f"install {PROGRAM}")


def need_chdb() -> None:
    """Skip where the embedded engine is not installed."""
    require("chdb", there=importlib.util.find_spec("chdb") is not None, how="pip install 'rankwell[clickhouse]'")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _serves(port: int) -> bool:
    """Whether a ZooKeeper says so: it listens a while before."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as one:
            one.sendall(b"srvr")
            return one.recv(4096).startswith(b"Zookeeper version")
    except OSError:
        return False


def _certify(certificate: Path, key: Path) -> None:
    """A certificate for this machine, signed by itself."""
    made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    command = ["openssl", "req", *made, *names, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
