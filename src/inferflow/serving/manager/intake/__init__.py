"""What is checked of a model before anyone may see it.

Somebody else's file is only ever opened in a process of its own, which may use little memory and
time, has no network and, where that can be had, another user. What happens there:

- `inspecting`: what the file says about itself: size of the graph, operators, weights elsewhere
- `trial`: the model is loaded and run once

and around it:

- `limits`: how much is too much
- `confinement`: the fences of the child process, from the inside
- `child`: the entry of the child process
- `checking`: starts the child, and says what its end means
"""

from inferflow.serving.manager.intake.checking import check_model
from inferflow.serving.manager.intake.findings import Findings
from inferflow.serving.manager.intake.limits import IntakeLimits

__all__ = ["Findings", "IntakeLimits", "check_model"]
