internal import CRDTCore

extension StoreTransaction {
    /// The creation that makes an object what it is, and those whose authors had not seen it, nor their writes been
    /// seen by its author.
    ///
    /// - Returns: nil if the object was not created.
    package mutating func concurrentCreations(
        of object: ObjectIndex
    ) throws(StoreError) -> (counting: WriteReference, others: [WriteReference])? {
        guard let counting = try self.look(at: object, { $0.creation?.write }) else { return nil }
        let context = try self.authorContext(of: counting)
        var others: [WriteReference] = []
        for write in try self.creations(of: object) where write != counting && !context.covers(write) {
            if !(try self.authorContext(of: write).covers(counting)) { others.append(write) }
        }
        return (counting, others)
    }

    private mutating func authorContext(of write: WriteReference) throws(StoreError) -> CausalContext {
        CausalContext(seen: try self.context(at: write.point), author: write.segment, ordinal: write.ordinal)
    }
}
