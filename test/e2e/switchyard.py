"""Runs the real Switchyard on a routes.toml: prints its base URL, serves until standard input ends."""

import sys

from switchyard_rust.server import Server

server = Server(sys.argv[1])
print(server.base_url, flush=True)
sys.stdin.read()
server.close()
