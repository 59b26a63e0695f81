/// Repairing writes whose content was dropped, from a run that has it: the hash of the change says that it is the same.
extension Run {
    /// This run of one change, with the content of some writes as another run has it.
    ///
    /// `indexes`: the places of these writes in the change. `other`: the same change, by its hash.
    /// - Returns: nil if the other run has not all of them, or neither has a leaf for what stays redacted.
    func repairing(
        _ indexes: Set<Int>,
        from other: Run,
        _ cryptography: some ChangeCryptography
    ) -> Run? {
        guard self.changes.count == 1, other.changes.count == 1, let change = self.changes.first,
            let otherChange = other.changes.first, change.operationCount == otherChange.operationCount
        else { return nil }
        let ownLeaves = ChainHash.leaves(of: change, in: self, cryptography)
        guard var leaves = (ownLeaves ?? ChainHash.leaves(of: otherChange, in: other, cryptography))?[...] else {
            return nil
        }
        var salts = ChainHash.salts(of: change, in: self, cryptography)[...]
        var otherSalts = ChainHash.salts(of: otherChange, in: other, cryptography)[...]
        var (kept, contents): ([UInt8], [Content]) = ([], [])
        for (index, position) in change.operationRange.enumerated() {
            let operation = self.operations[position]
            let otherOperation = other.operations[Int(otherChange.operationStart) + index]
            let salt = operation.hasContent ? salts.takeFirst(Bytes16.byteCount) : []
            let otherSalt = otherOperation.hasContent ? otherSalts.takeFirst(Bytes16.byteCount) : []
            let leaf = operation.kind.isWrite ? leaves.popFirst() : nil
            if operation.kind != .redacted {
                kept += salt
                contents.append(.own(operation))
            } else if indexes.contains(index) {
                guard otherOperation.hasContent else { return nil }
                kept += otherSalt
                contents.append(.other(otherOperation))
            } else {
                guard let leaf else { return nil }
                contents.append(.leaf(leaf, operation))
            }
        }
        var builder = RunBuilder(replica: self.replica, firstSequence: self.firstSequence, previous: self.previous)
        builder.beginChange(
            stamp: change.stamp,
            context: self.contextEntries[change.contextRange],
            blinding: kept,
            redaction: .partial
        )
        for content in contents {
            switch content {
            case .own(let operation): self.copy(operation, to: &builder)
            case .other(let operation): other.copy(operation, to: &builder)
            case .leaf(let leaf, let operation): self.copy(operation, as: .redacted, leaf.array[...], to: &builder)
            }
        }
        return builder.signed(self.signature)
    }

    /// Whether this run of one change says something else than another of the same hash, where both say what they
    /// write.
    func contradicts(_ other: Run) -> Bool {
        let own = self.operations[self.changes[0].operationRange]
        for (operation, otherOperation) in zip(own, other.operations[other.changes[0].operationRange])
        where operation.hasContent && otherOperation.hasContent {
            if operation.kind != otherOperation.kind { return true }
            if self.payload[operation.payloadRange] != other.payload[otherOperation.payloadRange] { return true }
        }
        return false
    }

    /// Where an operation of a change that is repaired comes from.
    private enum Content {
        case own(Operation)
        case other(Operation)
        case leaf(Bytes32, Operation)
    }

    /// One change of the run by itself, unsigned.
    func alone(_ change: Change, at sequence: UInt64) -> Run {
        var builder = RunBuilder(replica: self.replica, firstSequence: sequence)
        self.copy(change, to: &builder)
        return builder.signed(nil)
    }
}

extension ArraySlice<UInt8> {
    /// Takes so many bytes off the front.
    fileprivate mutating func takeFirst(_ count: Int) -> ArraySlice<UInt8> {
        defer { self = self.dropFirst(count) }
        return self.prefix(count)
    }
}
