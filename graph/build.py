"""The graph, as it is drawn in docs/architecture.md. No I/O here: what the nodes work with comes in as ports."""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from graph.holding import telling_failure
from graph.nodes.approve import make_approve
from graph.nodes.episodes import make_remember, make_retrieve
from graph.nodes.execute import make_after, make_execute
from graph.nodes.reject import make_reject
from graph.nodes.think import make_think
from graph.ports import Node, Ports
from graph.routing import route
from graph.state import State


def build(ports: Ports) -> StateGraph[Any, Any, Any, Any]:
    graph = StateGraph(State)
    graph.add_node("retrieve_episodes", watched("retrieve_episodes", make_retrieve(ports), ports))
    graph.add_node("agent_think", watched("agent_think", make_think(ports), ports))
    graph.add_node("await_human_approval", watched("await_human_approval", make_approve(ports), ports))
    graph.add_node("execute_tools", watched("execute_tools", make_execute(ports), ports))
    graph.add_node("after_tools", watched("after_tools", make_after(ports), ports))
    graph.add_node("handle_rejection", watched("handle_rejection", make_reject(ports), ports))
    graph.add_node("remember_episode", watched("remember_episode", make_remember(ports), ports))

    after = ["agent_think", "await_human_approval", "execute_tools", "handle_rejection", "remember_episode", END]
    graph.add_edge(START, "retrieve_episodes")
    graph.add_edge("retrieve_episodes", "agent_think")
    # Calls run side by side, and an edge of each of them would see only its own result: they join before what is next is decided.
    graph.add_edge("execute_tools", "after_tools")
    for node in ("agent_think", "await_human_approval", "after_tools", "handle_rejection"):
        graph.add_conditional_edges(node, route, after)
    graph.add_edge("remember_episode", END)
    return graph


def watched(name: str, node: Node, ports: Ports) -> Node:
    """The node, seen by whoever watches: a span for each time that it runs."""

    async def run(state: Any, config: RunnableConfig) -> dict[str, Any]:
        thread_id = str(config["configurable"]["thread_id"])
        with ports.watch.span(f"node {name}", node=name, thread_id=thread_id):
            async with telling_failure(ports, thread_id):
                return await node(state, config)

    return run
