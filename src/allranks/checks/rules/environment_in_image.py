"""The training environment is in a container's image, which allranks has not read yet.

## How it is found
Whether the run uses a container.

## Why it matters
Versions, imports and compilers are the image's, and the checks that judge them have judged nothing. Every node uses the
image with the same digest, so the versions cannot differ between nodes. They can still be wrong.

## What to do
Nothing: allranks checks the environment when the container is ready. Pin the image by its digest.

## Source
docs/architecture.md; an image's digest names its content.

Topic: software
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings


def check(context: Context) -> Findings:
    if context.run.container is not None:
        yield context.note(
            "container.image",
            saw=f"the training environment is in {context.run.container.image}",
            expected="an environment that could be looked at",
            why="versions and imports are the image's, and have not been judged.",
            fix="nothing: it is looked at once the container is prepared",
        )
