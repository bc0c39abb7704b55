"""The story of a thread as one page that needs nothing else: no script, no request, readable in ten years and on paper. Pure."""

import html
from collections.abc import Iterator, Mapping

from graph import screen
from graph.replay import STEP, Story, Told, shown, verdict
from memory.moments import moment

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
GOOD = {"execution_succeeded", "thread_ended"}
GRAVE = {"execution_unknown", "execution_failed", "refused_attempt", "process_taken_over", "approval_expired", "cancel_requested"}
PEOPLE = {"thread_started", "approval_requested", "vote_cast", "approval_decided", "approval_escalated", "approval_shown"}
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #59636e; --paper: #fff; --line: #d1d9e0; --box: #f6f8fa;
  --good: #1a7f37; --grave: #b35900; --people: #0550ae; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #9198a1; --paper: #0d1117; --line: #3d444d; --box: #151b23;
  --good: #3fb950; --grave: #e3953a; --people: #6cb0ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; }
header p { margin: .25rem 0; }
code, pre { font: .85rem/1.45 ui-monospace, monospace; }
.verified { color: var(--good); font-weight: 600; }
.broken { color: var(--grave); font-weight: 600; }
ol { list-style: none; margin: 2rem 0; padding: 0 0 0 1.25rem; border-left: 2px solid var(--line); }
li { position: relative; padding: 0 0 1.25rem .75rem; }
li::before { content: ""; position: absolute; left: calc(-1.25rem - 6px); top: .5rem; width: 10px; height: 10px; border-radius: 50%;
  background: var(--dim); }
li.step { padding-bottom: .5rem; color: var(--dim); font-size: .85rem; }
li.good::before { background: var(--good); } li.grave::before { background: var(--grave); } li.people::before { background: var(--people); }
h2 { font-size: 1rem; margin: 0; } h2 span, time { color: var(--dim); font-weight: 400; font-size: .85rem; }
li p { margin: .15rem 0; }
dl { margin: .35rem 0; display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .1rem .75rem; font-size: .9rem; }
dt { color: var(--dim); } dd { margin: 0; white-space: pre-wrap; }
summary { color: var(--dim); font-size: .8rem; cursor: pointer; }
pre { background: var(--box); border: 1px solid var(--line); border-radius: 4px; padding: .5rem; margin: .25rem 0; white-space: pre-wrap; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .35rem; } }
@media print { body { max-width: none; padding: 0; } li { break-inside: avoid; } }
"""


def page(story: Story) -> str:
    return "".join(_page(story))


def _page(story: Story) -> Iterator[str]:
    title = _safe(f"Thread {story.thread_id}")
    yield f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>{title}</title><style>{STYLE}</style></head>
<body><header><h1>{title}</h1>
{"".join(_standing(story))}
<p>{len(story.told)} events, in the order of the record. Times are UTC, by the database's clock. What stands in quotation marks, or under
“the model wrote”, are words of people, of tools and of a model: nobody vouches for them.</p></header>
<main><ol>
"""
    yield from (_event(told) for told in story.told)
    yield "</ol></main></body></html>\n"


def _standing(story: Story) -> Iterator[str]:
    mark = "broken" if story.faults else "verified"
    yield from (f'<p class="{mark}">{_safe(line)}</p>\n' for line in verdict(story).split("\n"))
    if story.head:
        yield f"<p>Last event: number {story.head.seq}, hash <code>{_safe(story.head.hash)}</code></p>"


def _event(told: Told) -> str:
    event = told.event
    facts = "".join(f"<dt>{_safe(name)}</dt><dd>{_safe(shown(value), lines=True)}</dd>" for name, value in told.details.items())
    raw = f"{event.kind} by {event.actor} ({event.actor_source})\nhash {event.hash}\nbefore {event.prev_hash or '-'}\n{event.payload}"
    return f"""<li class="{_looks(event.kind)}" id="e{event.seq}">
<h2>{_safe(told.title)} <span>{event.seq}</span> <time datetime="{moment(event.at)}">{moment(event.at)}</time></h2>
<p>{_safe(told.text)}</p>{f"<dl>{facts}</dl>" if facts else ""}
<details><summary>as recorded</summary><pre>{_safe(raw, lines=True)}</pre></details></li>
"""


def _looks(kind: str) -> str:
    groups: Mapping[str, set[str]] = {"good": GOOD, "grave": GRAVE, "people": PEOPLE, "step": {STEP}}
    return next((name for name, kinds in groups.items() if kind in kinds), "plain")


def _safe(text: str, *, lines: bool = False) -> str:
    """Invisible and moving characters are shown as in a terminal, then nothing is left that HTML could take for its own."""
    return html.escape(screen.escape(text, lines=lines))
