/// Dropping the content of writes: hashes stand for it, so that the signatures hold as before.
extension Run {
    /// What a leaf saves must pay for itself: hashes and salts take room as well.
    static let redactedPayloadByteCountMin = 64

    /// This run of one change, with the content of writes to properties dropped.
    ///
    /// If they are all writes of the change, one hash stands for them. Otherwise a leaf stands for each that is large;
    /// a small one takes no more room than its leaf, and stays. What was written to remains named.
    ///
    /// `redactable`: the places of the writes in the change.
    /// - Returns: the run, and the places of what is dropped newly; nil if nothing is.
    package func redacting(
        _ redactable: Set<Int>,
        _ cryptography: some ChangeCryptography
    ) -> (run: Run, dropped: [Int])? {
        guard self.changes.count == 1, let change = self.changes.first else { return nil }
        var dropped = self.contents(of: change, among: redactable)
        if dropped.count < self.operations[change.operationRange].count(where: \.hasContent) {
            dropped.removeAll { self.operations[$0].payloadByteCount < Self.redactedPayloadByteCountMin }
        }
        guard let found = self.erasing(Set(dropped), cryptography) else { return nil }
        guard found.run.changes[0].redaction == .whole || found.run.size.byteCount < self.size.byteCount else {
            return nil
        }
        return found
    }

    /// This run with the content of some writes to properties dropped, whatever it takes.
    ///
    /// - Returns: the run, and the places of what is dropped newly; nil if nothing is.
    package func erasing(
        _ positions: Set<Int>,
        _ cryptography: some ChangeCryptography
    ) -> (run: Run, dropped: [Int])? {
        var builder = RunBuilder(replica: self.replica, firstSequence: self.firstSequence, previous: self.previous)
        var dropped: [Int] = []
        for change in self.changes {
            let places = self.contents(of: change, among: positions)
            if let leaves = ChainHash.leaves(of: change, in: self, cryptography), !places.isEmpty {
                self.copy(change, dropping: Set(places), leaves, to: &builder, cryptography)
                dropped += places
            } else {
                self.copy(change, to: &builder)
            }
        }
        return dropped.isEmpty ? nil : (builder.signed(self.signature), dropped)
    }

    /// This run of one change, without large contents that nobody wants; nil if it has none that is wanted.
    ///
    /// A small one takes no more room than its leaf, and stays.
    package func revealing(_ isWanted: (Int) -> Bool, _ cryptography: some ChangeCryptography) -> Run? {
        var (hasWanted, dropped): (Bool, Set<Int>) = (false, [])
        for position in self.changes[0].operationRange where self.operations[position].hasContent {
            if isWanted(position) {
                hasWanted = true
            } else if self.operations[position].payloadByteCount >= Self.redactedPayloadByteCountMin {
                dropped.insert(position)
            }
        }
        guard hasWanted else { return nil }
        return dropped.isEmpty ? self : self.erasing(dropped, cryptography)?.run
    }

    /// The places of writes of a change, among some, whose content is here.
    private func contents(of change: Change, among positions: Set<Int>) -> [Int] {
        change.operationRange.filter { positions.contains($0) && self.operations[$0].hasContent }
    }

    /// Appends a change as it is.
    func copy(_ change: Change, to builder: inout RunBuilder) {
        builder.beginChange(
            stamp: change.stamp,
            context: self.contextEntries[change.contextRange],
            blinding: self.blinding(of: change),
            redaction: change.redaction
        )
        for operation in self.operations[change.operationRange] { self.copy(operation, to: &builder) }
    }

    /// Appends a change with some contents dropped.
    ///
    /// `leaves`: those of all that it writes.
    private func copy(
        _ change: Change,
        dropping places: Set<Int>,
        _ leaves: [Bytes32],
        to builder: inout RunBuilder,
        _ cryptography: some ChangeCryptography
    ) {
        let salts = ChainHash.salts(of: change, in: self, cryptography)
        var (kept, saltStart): ([UInt8], Int) = ([], 0)
        for position in change.operationRange where self.operations[position].hasContent {
            if !places.contains(position) { kept += salts[saltStart..<saltStart + Bytes16.byteCount] }
            saltStart += Bytes16.byteCount
        }
        let isWhole = kept.isEmpty
        builder.beginChange(
            stamp: change.stamp,
            context: self.contextEntries[change.contextRange],
            blinding: isWhole ? ChainHash.contents(of: change, in: self, cryptography).array : kept,
            redaction: isWhole ? .whole : .partial
        )
        var leafNumber = 0
        for position in change.operationRange {
            let operation = self.operations[position]
            if operation.kind == .redacted || places.contains(position) {
                self.copy(operation, as: .redacted, isWhole ? [] : leaves[leafNumber].array[...], to: &builder)
            } else {
                self.copy(operation, to: &builder)
            }
            if operation.kind.isWrite { leafNumber += 1 }
        }
    }

    /// Copies an operation.
    func copy(_ operation: Operation, to builder: inout RunBuilder) {
        self.copy(operation, as: operation.kind, self.payload[operation.payloadRange], to: &builder)
    }

    /// Copies what an operation is about, as one of a kind and a payload.
    func copy(
        _ operation: Operation,
        as kind: OperationKind,
        _ payload: ArraySlice<UInt8>,
        to builder: inout RunBuilder
    ) {
        var operand: UInt32 = 0
        if operation.kind.hasName {
            operand = builder.index(ofName: self.names[Int(operation.operand)])
        } else if operation.kind == .move, operation.operand > 0 {
            operand = builder.index(of: self.objects[Int(operation.operand) - 1]) + 1
        }
        builder.append(
            kind: kind,
            object: operation.kind.hasObject ? builder.index(of: self.objects[Int(operation.object)]) : 0,
            operand: operand,
            payload: payload
        )
    }
}
