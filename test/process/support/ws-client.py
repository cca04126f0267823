"""Opens a WebSocket with the websockets library and tells what happens, one JSON object a line.

argv: the address. Each line of the input is sent as a message as it is; the end of the input closes the connection.
"""

import asyncio
import json
import sys

import websockets


def tell(**what):
    print(json.dumps(what), flush=True)


async def send_lines(socket):
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        await socket.send(line.rstrip("\n"))
    await socket.close()


async def main(address):
    try:
        socket = await websockets.connect(address, ping_interval=1, ping_timeout=10, max_size=None)
    except websockets.exceptions.InvalidStatusCode as refused:
        tell(event="refused", status=refused.status_code, type=refused.headers.get("Content-Type"))
        return
    tell(event="open")
    sender = asyncio.create_task(send_lines(socket))
    try:
        async for message in socket:
            tell(event="message", text=isinstance(message, str), frame=json.loads(message))
    except websockets.exceptions.ConnectionClosed:
        pass
    tell(event="closed", code=socket.close_code, reason=socket.close_reason)
    sender.cancel()


asyncio.run(main(sys.argv[1]))
