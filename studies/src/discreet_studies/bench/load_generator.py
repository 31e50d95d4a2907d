"""Many readers of a server at once, in one process: what they got, how long it took, and whether each byte was right.

A reader keeps a connection, asks, compares the hash of the answer's bytes with the one that was found by asking alone
before, waits a little and asks again. A server that closes a connection between two requests is asked anew.
"""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: Seconds after which a reader gives up.
PATIENCE = 30.0
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
#: Status, hash and number of the bytes of an answer.
Answer = tuple[int, str, int]


@dataclass(slots=True)
class Tally:
    """What readers met.

    Args:
        seconds: Of every answer.
        statuses: How often each status came; 0 for a connection that broke.
        wrong: Answers with status 200 whose bytes were others than those of the reference.
    """

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: int = 0

    def quantile(self, share: float) -> float:
        """The time that this share of the answers did not take longer than; 0 without any."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


@dataclass(frozen=True, slots=True)
class Site:
    """Where a server is, and what is sent with every request."""

    port: int
    headers: str = ""

    async def connect(self) -> Connection:
        """A connection."""
        return await asyncio.open_connection("127.0.0.1", self.port, limit=2**20)

    def request(self, address: str) -> bytes:
        """The bytes of a request."""
        return f"GET {address} HTTP/1.1\r\nhost: 127.0.0.1\r\n{self.headers}\r\n".encode()


async def ask(site: Site, connection: Connection, address: str) -> Answer:
    """Ask on a connection and read the whole answer."""
    reader, writer = connection
    writer.write(site.request(address))
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    told = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    digest, size = hashlib.sha256(), 0
    if told.get("transfer-encoding") == "chunked":
        while length := int(await reader.readline(), 16):
            digest.update(await reader.readexactly(length))
            size += length
            await reader.readexactly(2)
        await reader.readexactly(2)
    elif length := int(told.get("content-length", "0")):
        digest.update(await reader.readexactly(length))
        size = length
    if told.get("connection") == "close":
        writer.close()
    return int(lines[0].split()[1]), digest.hexdigest(), size


async def references(site: Site, addresses: Sequence[str]) -> dict[str, Answer]:
    """What each address answers to somebody who asks alone."""
    found = {}
    for address in addresses:
        connection = await site.connect()
        found[address] = await ask(site, connection, address)
        connection[1].close()
    return found


async def run_clients(
    site: Site, expected: Mapping[str, Answer], clients: int, seconds: float, pause: float = 0.0
) -> Tally:
    """Let so many readers ask for so long, each the addresses in an order of its own."""
    tally, addresses, end = Tally(), list(expected), time.perf_counter() + seconds

    async def client(number: int) -> None:
        connection: Connection | None = None
        asked = number
        await asyncio.sleep(pause * number / clients)
        while time.perf_counter() < end:
            asked = (asked * 31 + 7) % 10_007
            address = addresses[asked % len(addresses)]
            start = time.perf_counter()
            try:
                if connection is None:
                    connection = await asyncio.wait_for(site.connect(), PATIENCE)
                status, digest, _ = await asyncio.wait_for(ask(site, connection, address), PATIENCE)
            except (OSError, asyncio.IncompleteReadError):  # a TimeoutError is an OSError
                tally.statuses[0] += 1
                connection = None
                continue
            tally.seconds.append(time.perf_counter() - start)
            tally.statuses[status] += 1
            tally.wrong += status == 200 and digest != expected[address][1]
            if connection[1].is_closing():
                connection = None
            await asyncio.sleep(pause)
        if connection is not None:
            connection[1].close()

    await asyncio.gather(*(client(number) for number in range(clients)))
    return tally
