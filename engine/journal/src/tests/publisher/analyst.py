"""An analyst's own program: reads the public events, and tries what it must not do.

Says what it finds as one JSON object a line. Who runs it judges. Uses nats-py alone, with the account of an analyst.
"""

import asyncio
import json
import sys

import nats

URL, USER, PASSWORD = sys.argv[1:4]
DIRECT = "$JS.API.DIRECT.GET.ARENA_EVENTS_0"
PATIENCE = 20


def say(**what):
    print(json.dumps(what), flush=True)


async def connect(errors=None):
    async def heard(error):
        if errors is not None:
            errors.append(str(error))

    return await nats.connect(URL, user=USER, password=PASSWORD, error_cb=heard, allow_reconnect=False)


async def batch(client, first, subject):
    """Some events from a sequence on, of a subject; the sequence to go on with, and whether there are more."""
    inbox = client.new_inbox()
    answers = await client.subscribe(inbox)
    ask = {"seq": first, "batch": 7, "next_by_subj": subject}
    await client.publish(DIRECT, json.dumps(ask).encode(), reply=inbox)
    events = []
    while True:
        answer = await answers.next_msg(timeout=PATIENCE)
        status = answer.headers.get("Status")
        if status:
            assert status in ("204", "404"), answer.headers
            break
        events.append((int(answer.headers["Nats-Sequence"]), answer.headers["Nats-Subject"], answer.data.decode()))
    await answers.unsubscribe()
    return events


async def read(client, first, subject=">"):
    """All events from a sequence on."""
    events = []
    while True:
        more = await batch(client, first, subject)
        if not more:
            return events
        events += more
        first = more[-1][0] + 1


async def refused(what, attempt):
    """Tries one thing on a connection of its own."""
    errors = []
    client = await connect(errors)
    heard = []
    try:
        heard += await attempt(client) or []
        await client.flush(timeout=PATIENCE)
    except Exception as error:
        errors.append(f"{type(error).__name__}: {error}")
    # The server says what it refuses before it answers the next ping.
    for _ in range(50):
        if errors:
            break
        await asyncio.sleep(0.02)
    if not client.is_closed:
        await client.close()
    say(tried=what, errors=errors, heard=heard)


def listening(subject):
    async def attempt(client):
        heard = []

        async def hear(message):
            heard.append(message.subject)

        await client.subscribe(subject, cb=hear)
        await client.flush(timeout=PATIENCE)
        await asyncio.sleep(0.05)
        return heard

    return attempt


def publishing(subject, reply="", payload=b"{}"):
    async def attempt(client):
        await client.publish(subject, payload, reply=reply)

    return attempt


def answered_elsewhere(reply, payload):
    """What it may ask, with the answer sent to where it may not write."""

    async def attempt(client):
        await client.publish(DIRECT, payload, reply=reply)
        await client.flush(timeout=PATIENCE)
        await asyncio.sleep(0.1)

    return attempt


async def consuming(client):
    await client.jetstream().subscribe("arena.event.>", stream="ARENA_EVENTS_0", ordered_consumer=True)


async def main():
    client = await connect()
    ended = []

    async def live(message):
        ended.append(message.data.decode())

    await client.subscribe("arena.event.0.matches.match_ended.*", cb=live)
    await client.flush(timeout=PATIENCE)
    say(ready=True)
    expected = int(sys.stdin.readline())
    for _ in range(PATIENCE * 50):
        if len(ended) >= expected:
            break
        await asyncio.sleep(0.02)
    say(live=ended)

    everything = await read(client, 1)
    say(everything=everything)
    say(filtered=await read(client, 1, "arena.event.*.matches.match_ended.*"))
    # A cursor is an id with its message's sequence: the message there is compared once.
    sequence, _, cursor = everything[len(everything) // 2]
    at_cursor = (await batch(client, sequence, ">"))[0]
    assert json.loads(at_cursor[2])["id"] == json.loads(cursor)["id"]
    say(after=json.loads(cursor)["id"], resumed=await read(client, sequence + 1))
    position = await client.request("arena.position.0", b"", timeout=PATIENCE)
    say(position=position.data.decode())

    for subject in json.loads(sys.stdin.readline()):
        await refused(f"subscribe {subject}", listening(subject))
    for subject in json.loads(sys.stdin.readline()):
        await refused(f"publish {subject}", publishing(subject))
        await refused(f"request {subject}", publishing(subject, reply=client.new_inbox()))
    await refused("consume", consuming)
    for reply in json.loads(sys.stdin.readline()):
        await refused(f"answer to {reply}", answered_elsewhere(reply, b'{"seq":1}'))
        batches = b'{"seq":1,"batch":5,"next_by_subj":">"}'
        await refused(f"answers to {reply}", answered_elsewhere(reply, batches))
    for words in json.loads(sys.stdin.readline()):
        try:
            answer = await client.request("arena.position.0", bytes.fromhex(words), timeout=1)
            say(asked=words, answer=answer.data.hex())
        except Exception as error:
            say(asked=words, answer=None, why=str(error))
    await client.close()
    say(done=True)


asyncio.run(main())
