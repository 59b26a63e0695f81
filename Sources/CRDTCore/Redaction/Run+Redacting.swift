/// Dropping the content of writes: hashes stand for it, so that the signatures hold as before.
extension Run {
    /// What a leaf saves must pay for itself: hashes and salts take room as well.
    static let redactedPayloadByteCountMin = 64

    /// This run of one change, with operations dropped that are writes to properties.
    ///
    /// If all of the change are among them, the root alone stands for them. Otherwise a leaf stands for each that is
    /// large; a small one takes no more room than its leaf, and stays. The properties remain named.
    ///
    /// `redactable`: the places of the operations in the change.
    /// - Returns: the run, and the places of what is dropped newly; nil if nothing is.
    package func redacting(
        _ redactable: Set<Int>,
        _ cryptography: some ChangeCryptography
    ) -> (run: Run, dropped: [Int])? {
        guard self.changes.count == 1, let change = self.changes.first, !change.isRedacted else { return nil }
        let operations = self.operations[change.operationRange]
        let isWhole = operations.indices.allSatisfy { position in
            self.operations[position].kind == .redacted
                || redactable.contains(position) && self.isDroppable(self.operations[position])
        }
        if isWhole, !operations.isEmpty { return self.redactingAll(change, cryptography) }
        let dropped = operations.indices.filter { position in
            redactable.contains(position) && self.isDroppable(self.operations[position])
                && Int(self.operations[position].payloadByteCount) >= Self.redactedPayloadByteCountMin
        }
        guard !dropped.isEmpty else { return nil }
        let run = self.redacting(Set(dropped), of: change, cryptography)
        guard run.size.byteCount < self.size.byteCount else { return nil }
        return (run, dropped)
    }

    /// This run of one change, with some of its writes to properties dropped whatever they take.
    ///
    /// - Returns: the run, and the places of what is dropped newly; nil if nothing is.
    package func erasing(
        _ positions: Set<Int>,
        _ cryptography: some ChangeCryptography
    ) -> (run: Run, dropped: [Int])? {
        guard self.changes.count == 1, let change = self.changes.first, !change.isRedacted else { return nil }
        let dropped = change.operationRange.filter { position in
            let kind = self.operations[position].kind
            return positions.contains(position) && (kind == .set || kind == .unset)
        }
        guard !dropped.isEmpty else { return nil }
        let places = Set(dropped)
        if change.operationRange.allSatisfy({ self.operations[$0].kind == .redacted || places.contains($0) }) {
            return self.redactingAll(change, cryptography)
        }
        return (self.redacting(places, of: change, cryptography), dropped)
    }

    private func isDroppable(_ operation: Operation) -> Bool {
        (operation.kind == .set || operation.kind == .unset) && operation.grant == 0
    }

    private func redactingAll(
        _ change: Change,
        _ cryptography: some ChangeCryptography
    ) -> (run: Run, dropped: [Int]) {
        var builder = RunBuilder(replica: self.replica, firstSequence: self.firstSequence, previous: self.previous)
        let root = ChainHash.root(of: change, in: self, cryptography)
        let context = self.contextEntries[change.contextRange]
        builder.beginChange(stamp: change.stamp, context: context, blinding: root.array[...], isRedacted: true)
        var dropped: [Int] = []
        for position in change.operationRange {
            self.copy(self.operations[position], to: &builder, payload: [])
            if self.operations[position].kind != .redacted { dropped.append(position) }
        }
        return (builder.signed(self.signature), dropped)
    }

    private func redacting(
        _ dropped: Set<Int>,
        of change: Change,
        _ cryptography: some ChangeCryptography
    ) -> Run {
        var builder = RunBuilder(replica: self.replica, firstSequence: self.firstSequence, previous: self.previous)
        // Those that are left out already have no salt.
        let salts = ChainHash.salts(of: change, in: self, cryptography)
        var (kept, place): ([UInt8], Int) = ([], 0)
        var leaves: [Int: Hash256] = [:]
        for position in change.operationRange where !self.operations[position].kind.isHash {
            let salt = salts[place..<place + Bytes16.byteCount]
            place += Bytes16.byteCount
            if dropped.contains(position) {
                leaves[position] = ChainHash.leaf(of: self.operations[position], in: self, salt: salt, cryptography)
            } else {
                kept += salt
            }
        }
        let context = self.contextEntries[change.contextRange]
        builder.beginChange(stamp: change.stamp, context: context, blinding: kept[...], hasLeftOut: true)
        for position in change.operationRange {
            let operation = self.operations[position]
            if let leaf = leaves[position] {
                self.copy(operation, to: &builder, payload: leaf.bytes.array[...])
            } else {
                self.copy(operation, to: &builder, payload: nil)
            }
        }
        return builder.signed(self.signature)
    }

    /// Copies an operation; with a payload, as a dropped write that it stands for.
    func copy(_ operation: Operation, to builder: inout RunBuilder, payload: ArraySlice<UInt8>?) {
        var operand: UInt32 = 0
        if operation.kind.hasName {
            operand = builder.index(ofName: self.names[Int(operation.operand)])
        } else if operation.kind == .move, operation.operand > 0 {
            operand = builder.index(of: self.objects[Int(operation.operand) - 1]) + 1
        }
        // The leaf holds the grant of what is dropped.
        var grant: UInt32 = 0
        if payload == nil, operation.grant > 0 {
            grant = builder.index(of: self.grants[Int(operation.grant) - 1]) + 1
        }
        builder.append(
            kind: payload == nil ? operation.kind : .redacted,
            grant: grant,
            object: operation.kind.hasObject ? builder.index(of: self.objects[Int(operation.object)]) : 0,
            operand: operand,
            payload: payload ?? self.payload[operation.payloadRange]
        )
    }
}
