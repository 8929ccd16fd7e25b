"""What the demo shop's models are made of; used by train_shop.py and expect_shop.py.

columns.py      feature columns straight from the population's arrays, and tensors from them
behaviour.py    what customers of the shop do: clicks, purchases, choices, orders
network.py      a small neural network in numpy, for the pair and the page model
export.py       all four models as ONNX files
quality.py      area under the ROC curve
"""
