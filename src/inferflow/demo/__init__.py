"""The demo shop: a whole project that fits in a few megabytes and needs no download.

    population.py   who lives in the shop: users, products, affinities, as seeded arrays
    shop.py         `write_shop`: those arrays as files, beside the project's own files
    project/        what ships as it is: schema, configs, expressions, models, requests

The models in `project/` are trained by `examples/train_shop.py` on the same population.
"""

from inferflow.demo.shop import write_shop

__all__ = ["write_shop"]
