/// Repairing writes that were dropped, from a run that has them: the hash of the change says that they are the same.
extension Run {
    /// This run of one change, with some operations that are redacted in it as another run has them.
    ///
    /// `indexes`: the places of these operations in the change. `other`: the same change, by its hash.
    /// - Returns: nil if neither run has the leaf, or the salt, of an operation that it takes to make up the hash.
    func repairing(
        _ indexes: Set<Int>,
        from other: Run,
        _ cryptography: some ChangeCryptography
    ) -> Run? {
        guard self.changes.count == 1, other.changes.count == 1, let change = self.changes.first,
            let otherChange = other.changes.first, change.operationCount == otherChange.operationCount
        else { return nil }
        let isWhole = change.operationRange.enumerated().allSatisfy { index, position in
            !self.operations[position].kind.isHash || indexes.contains(index)
        }
        if isWhole { return otherChange.hasLeftOut || otherChange.isRedacted ? nil : self.taking(other) }
        var (own, others) = (self.salts(of: change, cryptography), other.salts(of: otherChange, cryptography))
        var (kept, sources): ([UInt8], [Source]) = ([], [])
        for (index, position) in change.operationRange.enumerated() {
            let otherPosition = Int(otherChange.operationStart) + index
            let (operation, otherOperation) = (self.operations[position], other.operations[otherPosition])
            let salt = operation.kind.isHash ? nil : own.popFirst()
            let otherSalt = otherOperation.kind.isHash ? nil : others.popFirst()
            if let salt {
                kept += salt
                sources.append(.own(operation))
            } else if indexes.contains(index) {
                guard let otherSalt else { return nil }
                kept += otherSalt
                sources.append(.other(otherOperation))
            } else if operation.payloadByteCount > 0 {
                sources.append(.own(operation))
            } else if let otherSalt {
                let leaf = ChainHash.leaf(of: otherOperation, in: other, salt: otherSalt, cryptography)
                sources.append(.leaf(leaf, operation))
            } else {
                guard let leaf = Bytes32(other.payload[otherOperation.payloadRange]) else { return nil }
                sources.append(.leaf(Hash256(bytes: leaf), operation))
            }
        }
        var builder = RunBuilder(replica: self.replica, firstSequence: self.firstSequence, previous: self.previous)
        let context = self.contextEntries[change.contextRange]
        builder.beginChange(stamp: change.stamp, context: context, blinding: kept[...], hasLeftOut: true)
        for source in sources {
            switch source {
            case .own(let operation): self.copy(operation, to: &builder, payload: nil)
            case .other(let operation): other.copy(operation, to: &builder, payload: nil)
            case .leaf(let leaf, let operation): self.copy(operation, to: &builder, payload: leaf.bytes.array[...])
            }
        }
        return builder.signed(self.signature)
    }

    /// Where an operation of a change that is repaired comes from.
    private enum Source {
        case own(Operation)
        case other(Operation)
        case leaf(Hash256, Operation)
    }

    /// The salts of the operations that are there, in their order.
    private func salts(of change: Change, _ cryptography: some ChangeCryptography) -> ArraySlice<ArraySlice<UInt8>> {
        guard !change.isRedacted else { return [] }
        let bytes = ChainHash.salts(of: change, in: self, cryptography)
        var salts: [ArraySlice<UInt8>] = []
        for (index, position) in change.operationRange.enumerated() {
            let place = change.hasLeftOut ? salts.count : index
            if change.hasLeftOut, self.operations[position].kind.isHash { continue }
            let start = place * Bytes16.byteCount
            salts.append(bytes[start..<start + Bytes16.byteCount])
        }
        return salts[...]
    }

    /// Another run of the same change, in the place of this one.
    private func taking(_ other: Run) -> Run {
        var run = other
        run.previous = self.previous
        run.signature = self.signature
        return run
    }

    /// One change of the run by itself, unsigned.
    func alone(_ change: Change, at sequence: UInt64) -> Run {
        var builder = RunBuilder(replica: self.replica, firstSequence: sequence)
        self.copy(change, to: &builder)
        return builder.signed(nil)
    }

    /// Appends a change as it is.
    func copy(_ change: Change, to builder: inout RunBuilder) {
        builder.beginChange(
            stamp: change.stamp,
            context: self.contextEntries[change.contextRange],
            blinding: self.blinding(of: change),
            hasLeftOut: change.hasLeftOut,
            isRedacted: change.isRedacted
        )
        for operation in self.operations[change.operationRange] { self.copy(operation, to: &builder, payload: nil) }
    }
}
