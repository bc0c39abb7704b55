"""What `langgraph.json` names: the graph without a saver, and our saver. The Agent Server calls both, and drives by itself.

A server asks for the graph at every access, reads included, so one application is opened and kept for the process.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from langgraph.graph import StateGraph

from graph.app import App, open_app
from graph.build import build
from graph.settings import load_settings

_opened: dict[int, App] = {}
_stack = AsyncExitStack()
_opening = asyncio.Lock()


async def make_graph() -> StateGraph[Any, Any, Any, Any]:
    return build(await asyncio.to_thread((await _application()).ports))


@asynccontextmanager
async def make_saver() -> AsyncIterator[Any]:
    """The guarded saver, on the application's pool."""
    yield (await _application()).saver()


async def _application() -> App:
    async with _opening:
        loop = id(asyncio.get_running_loop())
        if loop not in _opened:
            _opened[loop] = await _stack.enter_async_context(open_app(await asyncio.to_thread(load_settings)))
        return _opened[loop]
