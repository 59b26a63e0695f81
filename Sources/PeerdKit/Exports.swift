// Ids and values are made where changes are merged; whoever imports PeerdKit has them too.
@_exported public import CRDTCore
