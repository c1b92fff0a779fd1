"""A Bolt server with one empty database, until its standard input ends: ArcadeDB, which brings its own Java.

Run as a process, in the folder that it is given (it writes a log there); its port is in FOLDER/port when it answers.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

PASSWORD = "planted-word"
DATABASE = "code"


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def main(folder: Path) -> None:
    """Serves, at the loopback address only."""
    from arcadedb_embedded import ArcadeDBServer

    port = free_port()
    config = {
        "server_plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin", "bolt_port": port, "http_port": free_port(),
        "host": "127.0.0.1",
    }  # fmt: skip
    server = ArcadeDBServer(str(folder), PASSWORD, config=config, jvm_kwargs={"heap_size": "256m"})
    server.start()
    server.create_database(DATABASE)
    (folder / "port.new").write_text(str(port))
    (folder / "port.new").rename(folder / "port")
    sys.stdin.read()
    os._exit(0)  # Java's threads have nothing to say any more


if __name__ == "__main__":
    main(Path(sys.argv[1]))
