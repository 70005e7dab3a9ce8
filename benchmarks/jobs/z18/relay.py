"""TCP relay of a remote site: relay.py SITE LOCAL_PORT TARGET_PORT MAX_SESSION_S"""
import asyncio, os, sys
site, lport, tport = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


async def pipe(r, w):
    try:
        while data := await r.read(65536):
            w.write(data); await w.drain()
    finally:
        w.close()


async def handle(r, w):
    asyncio.get_running_loop().call_later(float(sys.argv[4]), os._exit, 0)
    r2, w2 = await asyncio.open_connection("127.0.0.1", tport)
    await asyncio.gather(pipe(r, w2), pipe(r2, w), return_exceptions=True)


async def main():
    s = await asyncio.start_server(handle, "127.0.0.1", lport)
    await s.serve_forever()

asyncio.run(main())
