"""Work that several want is done once for all who asked before it began."""

from __future__ import annotations

import asyncio

import pytest

from chat.live.together import Together


class Counted:
    """Work that can be held up; what it gives is how often it had been begun by then."""

    def __init__(self) -> None:
        self.begun = 0
        self.gate = asyncio.Event()
        self.fails = False

    async def __call__(self) -> int:
        self.begun += 1
        number = self.begun
        await self.gate.wait()
        if self.fails:
            raise ValueError(number)
        return number


async def settled() -> None:
    """Let every task go on as far as it can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_who_asks_while_it_is_done_shares_the_next() -> None:
    together, work = Together[int](), Counted()
    first = [asyncio.ensure_future(together("page", work)) for _ in range(3)]
    await settled()
    later = [asyncio.ensure_future(together("page", work)) for _ in range(20)]
    await settled()
    assert work.begun == 1
    work.gate.set()
    assert await asyncio.gather(*first) == [1, 1, 1]
    assert await asyncio.gather(*later) == [2] * 20
    assert await together("page", work) == 3


async def test_each_key_is_for_itself() -> None:
    together, work = Together[int](), Counted()
    asked = [asyncio.ensure_future(together(key, work)) for key in ("one", "another")]
    await settled()
    assert work.begun == 2
    work.gate.set()
    assert await asyncio.gather(*asked) == [1, 2]


@pytest.mark.parametrize("leaves", [0, 1])
async def test_it_goes_on_when_somebody_stops_waiting(leaves: int) -> None:
    together, work = Together[int](), Counted()
    asked = [asyncio.ensure_future(together("page", work)) for _ in range(2)]
    await settled()
    asked.pop(leaves).cancel()
    await settled()
    work.gate.set()
    assert await asked[0] == 1


async def test_all_who_share_it_see_it_fail_and_the_next_is_tried() -> None:
    together, work = Together[int](), Counted()
    work.fails = True
    asked = [asyncio.ensure_future(together("page", work)) for _ in range(2)]
    await settled()
    later = asyncio.ensure_future(together("page", work))
    work.gate.set()
    told = await asyncio.gather(*asked, later, return_exceptions=True)
    assert [error.args for error in told if isinstance(error, ValueError)] == [(1,), (1,), (2,)]
    work.fails = False
    assert await together("page", work) == 3
