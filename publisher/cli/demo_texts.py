"""The texts of the demo: ten short articles, and the note that a kept instance gets. Pure: nothing is read or written."""

from __future__ import annotations

from collections.abc import Mapping

SITE = "garden"
TITLE = "The Kitchen Garden"

ARTICLES: Mapping[str, tuple[str, str, str, str]] = {
    "a-bed-for-broad-beans": (
        "A bed for broad beans",
        "Sown before winter, picked before anything else.",
        "guide",
        "Broad beans forgive a cold start. Dig the bed over once, leave it rough, and press the seeds in **two inches deep**, a hand "
        "apart.\n\n- A double row stands up better in wind than a single one.\n- Pinch out the tips when the first pods form; the "
        "blackfly goes with them.\n\nBy June you will be glad of the hour you spent in November.",
    ),
    "a-cold-frame-from-a-window": (
        "A cold frame from a window",
        "An old sash, four boards, and three weeks more of salad.",
        "guide",
        "The frame needs to be higher at the back than at the front, so that rain runs off and the low sun gets in.\n\n1. Cut the "
        "side boards on a slope.\n2. Screw them to the front and the back.\n3. Lay the window on top; its own weight is the hinge.\n\n"
        "Prop it open on any morning that feels like spring.",
    ),
    "compost-in-one-year": (
        "Compost in one year",
        "Layers, patience, and one honest turn in the middle.",
        "guide",
        "A heap wants brown and green in turn: leaves, then peelings, then straw, then grass. Turn it **once**, at midsummer, when it "
        "has sunk by half.\n\nIf it smells, it is too wet; if nothing happens, it is too dry. Nearly every question about compost is "
        "one of these two.",
    ),
    "pruning-an-old-apple": (
        "Pruning an old apple",
        "Take out a third of what you meant to, and come back next winter.",
        "guide",
        "An old tree answers a hard cut with a thicket of water shoots. So spread the work over three winters:\n\n1. what is dead;\n"
        "2. what crosses;\n3. what shades the middle.\n\nA pigeon should be able to fly through the crown without touching it.",
    ),
    "rain-in-a-barrel": (
        "Rain in a barrel",
        "What falls on the shed roof in one night.",
        "note",
        "Four millimetres of rain on nine square metres of roof are thirty-six litres: two large cans and a bit. The barrel holds "
        "two hundred, so six such nights fill it, and one dry week in May empties it again.",
    ),
    "saving-tomato-seed": (
        "Saving tomato seed",
        "Three days in a glass of water, and then a label.",
        "guide",
        "Choose the best fruit of the best plant, not the last one left over. Squeeze the seeds into a glass, cover them with water "
        "and let them stand until a skin forms; it takes the jelly off.\n\nRinse, dry on paper, and **write down the name** before "
        "you do anything else.",
    ),
    "the-first-frost": (
        "The first frost",
        "It came on a clear night, and took the courgettes.",
        "note",
        "The thermometer by the gate showed one degree above, and still the leaves were black in the morning: cold air lies in the "
        "hollow by the beds. The kale did not notice. The courgettes are compost.",
    ),
    "the-hedgehog-is-back": (
        "The hedgehog is back",
        "A rustle under the hazel, every evening at nine.",
        "note",
        "It walks the same round each night: hazel, water dish, strawberry bed, and through the gap in the fence that nobody may "
        "repair. We leave the leaves where they fall.",
    ),
    "two-rows-of-garlic": (
        "Two rows of garlic",
        "Planted on the shortest day, lifted on the longest.",
        "guide",
        "Break the bulb only when you are about to plant. Each clove goes in with its tip up, a thumb deep, a hand from the next.\n\n"
        "Stop watering when the lower leaves turn yellow, and let the bulbs dry in the shade with their leaves on.",
    ),
    "what-the-slugs-left": (
        "What the slugs left",
        "An inventory, taken at six in the morning.",
        "note",
        "Of twelve lettuces: seven whole, three with lace edges, two stalks. Of the marigolds: none, which is what they were there "
        "for. Rye straw around the beds helped as long as it was dry.",
    ),
}
"""Slug → title, summary, category, Markdown. In the order of the slugs, which is the queue's."""


def draft_files() -> dict[str, bytes]:
    """The ten drafts by their path in the editor's clone."""
    return {
        f"drafts/{SITE}/{slug}/index.md": (
            f'---\nid: a-{number:04d}\ntitle: "{title}"\nsummary: "{summary}"\ncategory: {category}\ntags: []\n---\n{body}\n'
        ).encode()
        for number, (slug, (title, summary, category, body)) in enumerate(sorted(ARTICLES.items()), start=1)
    }


SETTINGS = b"    confirm_within: 60s\nlease: 3s\n"
"""What the demo adds at the end of ``publisher.yaml``: a patient confirmation, and a claim that lapses soon after a kill."""


def notes(*, stage: str, url: str, publisher: str, plan: str, tomorrow: str) -> bytes:
    """``NOTES.md`` of a kept instance. ``publisher`` is how the command is called on this machine."""
    return NOTES.format(where=STAGES[stage], url=url, publisher=publisher, plan=plan, tomorrow=tomorrow).encode()


STAGES = {
    "planned": "A plan for two articles is proposed (request 1). Nobody has approved it yet: begin at 1.",
    "approved": "A plan for two articles is approved. Nothing is public yet: begin at 2.",
    "confirmed": "Two articles are public, and every step is recorded. Begin at 3, or look around.",
    "over": "Two articles are public, and every step is recorded. Begin at 3, or look around.",
}

NOTES = """\
# A garden to play in

This is a whole instance of publisher, made by `publisher demo`. Nothing in it leaves this machine; delete the folder when you
are done.

{where}

| here | what |
|---|---|
| `remote.git` | the bare repository that everybody pushes to |
| `editor/` | writes drafts and proposes plans (key `keys/editor`, may commit) |
| `reviewer/` | approves what the editor proposed (key `keys/reviewer`, may approve) |
| `ci/` | carries out what is approved, as a scheduled job would |
| `public/` | the target: `current` is the release that is live |
| `public-staging/` | the staging target |

Every command is `publisher VERB`; here that is

    alias publisher="{publisher}"

## Things to try

The web server at the site's address, {url} (leave it running in a terminal of its own):

    cd ci && publisher serve

1. Approve, in the reviewer's clone:

       cd reviewer && publisher approve
       cd reviewer && publisher approve 1

2. Publish, in the clone that stands for CI:

       cd ci && publisher preview --fresh
       cd ci && publisher run
       cd ci && publisher run           # again: adds nothing

3. Plan tomorrow, approve it, and see that it waits for its date:

       cd editor && publisher plan --date {tomorrow}
       cd reviewer && publisher approve 2
       cd ci && publisher run

4. Correct something that is public, and have it approved like everything else:

       cd editor && git pull && $EDITOR drafts/garden/a-bed-for-broad-beans/index.md
       cd editor && git commit -a -m "A better sentence" && git push
       cd editor && publisher change correct a-0001 --reason "a wrong number"

5. Look:

       cd ci && publisher preview --fresh
       cd ci && publisher log
       cd ci && publisher audit
       cd ci && publisher doctor
       cd ci && git log --oneline origin/main
       cd ci && git show origin/main:ledger/{plan}.jsonl

6. Break something: kill a run, edit a file below `public/current/`, push without a review. `publisher run` and
   `publisher reconcile` say what they see.
"""
