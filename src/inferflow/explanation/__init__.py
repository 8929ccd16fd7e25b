"""What `explain` answers: facts as plain values, and text made of those facts alone.

Where the facts were gathered does not matter: a project that is open here, or a server whose
JSON was read. The text is the same.

- `explanation`: an `Explanation`, to look at or to read
- `run_text`: one request, step by step; `item_text`: one of its targets, column by column
- `kept_text`: a list of requests a server kept
"""

from inferflow.explanation.explanation import Explanation
from inferflow.explanation.item_text import item_text
from inferflow.explanation.kept_text import kept_text
from inferflow.explanation.run_text import run_text

__all__ = ["Explanation", "item_text", "kept_text", "run_text"]
