"""The shortest way to a ranking: the demo shop, in this process.

python examples/quickstart.py
"""

import inferflow
from inferflow.demo import write_shop

write_shop("inferflow-demo")
flow = inferflow.open("inferflow-demo")
ranking = flow.score("ranker", user="7", product=["1", "2", "3"], context={"hour": 20})
print(ranking)
