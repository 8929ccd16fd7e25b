"""One class per message, exactly as `proto/*.proto` declare them."""

from __future__ import annotations

from inferflow._proto.pool import message_class

InferflowRequest = message_class("InferflowRequestProto")
InferflowResponse = message_class("InferflowResponseProto")

FeatureSchema = message_class("FeatureSchema")
ContextFeature = message_class("ContextFeature")
Target = message_class("Target")
TargetPair = message_class("TargetPair")
TargetSlate = message_class("TargetSlate")
TargetScore = message_class("TargetScore")
PairScore = message_class("PairScore")
SlateScore = message_class("SlateScore")

PointWiseRequest = message_class("PointWiseRequest")
PointWiseResponse = message_class("PointWiseResponse")
PairWiseRequest = message_class("PairWiseRequest")
PairWiseResponse = message_class("PairWiseResponse")
SlateWiseRequest = message_class("SlateWiseRequest")
SlateWiseResponse = message_class("SlateWiseResponse")

InferflowLog = message_class("InferflowLog")
PerEntityFeatures = message_class("PerEntityFeatures")
KafkaRequest = message_class("KafkaRequest")
KafkaEventValue = message_class("KafkaEventValue")
PackedMessage = message_class("PackedMessage")
