"""site_id and shape_id, as docs/identity.md defines them."""
import re

from xxhash import xxh64


def stack_id(texts):
    """Of the texts of frames, outermost first."""
    number = 0
    for text in texts:
        number = xxh64(xxh64(text).digest(), seed=number).intdigest()
    return f"{number:016x}"


def shape_of(stack):
    """The shape_id of a stack as JSON has it, innermost first, whose frames all lie in files."""
    return stack_id(re.sub(r"^(\[.*\])\+0x[0-9a-f]+$", r"\1", frame["function"]) for frame in reversed(stack))
