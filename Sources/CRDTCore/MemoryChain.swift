/// The log of one replica in memory.
struct MemoryChain: Sendable {
    private struct StoredChange: Sendable {
        var stamp: Stamp
        var hash: Hash256
        var context: Range<Int>
        var operations: Range<Int>
        var blinding: Range<Int>
        var hasLeftOut: Bool
    }

    private struct StoredOperation: Sendable {
        var kind: OperationKind
        var grant: UInt32
        var object: ObjectIndex
        /// A name's number, or 1 + a parent's number, or 0.
        var operand: UInt32
        var payloadByteCount: UInt32
        var payloadOffset: Int
    }

    private var changes: [StoredChange] = []
    private var contexts: [Dot] = []
    private var operations: [StoredOperation] = []
    private var payload: [UInt8] = []
    private var blinding: [UInt8] = []
    private var grants: [GrantID] = []
    /// Where runs ended, ascending.
    private var signatures: [(sequence: UInt64, signature: Signature)] = []

    mutating func append(_ verified: VerifiedRun, indexes: RunIndexes) {
        let run = verified.run
        if self.changes.isEmpty { self.reserve() }
        let grantBase = UInt32(self.grants.count)
        self.grants += run.grants
        for (change, hash) in zip(run.changes, verified.hashes) {
            let contextStart = self.contexts.count
            let operationStart = self.operations.count
            let blindingStart = self.blinding.count
            self.contexts += run.contextEntries[change.contextRange]
            self.blinding += run.blinding(of: change)
            for operation in run.operations[change.operationRange] {
                self.append(operation, indexes: indexes, grantBase: grantBase)
                self.payload += run.payload[operation.payloadRange]
            }
            self.changes.append(
                StoredChange(
                    stamp: change.stamp,
                    hash: hash,
                    context: contextStart..<self.contexts.count,
                    operations: operationStart..<self.operations.count,
                    blinding: blindingStart..<self.blinding.count,
                    hasLeftOut: change.hasLeftOut
                )
            )
        }
        if let signature = run.signature { self.signatures.append((run.lastSequence, signature)) }
    }

    /// Makes room for a few changes, so that the first ones do not each make the columns grow.
    private mutating func reserve() {
        let count = 16
        self.changes.reserveCapacity(count)
        self.contexts.reserveCapacity(count)
        self.operations.reserveCapacity(count)
        self.payload.reserveCapacity(count * Bytes16.byteCount)
        self.blinding.reserveCapacity(count * Bytes16.byteCount)
        self.signatures.reserveCapacity(count)
    }

    /// Appends an operation whose payload comes next.
    private mutating func append(_ operation: Operation, indexes: RunIndexes, grantBase: UInt32) {
        var operand: UInt32 = 0
        if operation.kind.hasName {
            operand = indexes.names[Int(operation.operand)].rawValue
        } else if operation.kind == .move, operation.operand > 0 {
            operand = indexes.objects[Int(operation.operand) - 1].rawValue + 1
        }
        self.operations.append(
            StoredOperation(
                kind: operation.kind,
                grant: operation.grant == 0 ? 0 : grantBase + operation.grant,
                object: operation.kind.hasObject
                    ? indexes.objects[Int(operation.object)] : ObjectIndex(rawValue: 0),
                operand: operand,
                payloadByteCount: operation.payloadByteCount,
                payloadOffset: self.payload.count
            )
        )
    }

    private func change(_ sequence: UInt64) -> StoredChange? {
        guard sequence >= 1, sequence <= UInt64(self.changes.count) else { return nil }
        return self.changes[Int(sequence) - 1]
    }

    func stamp(_ sequence: UInt64) -> Stamp? { self.change(sequence)?.stamp }

    func hash(_ sequence: UInt64) -> Hash256? { self.change(sequence)?.hash }

    /// Builds a run from a sequence on; see `StoreTransaction.loadRun`.
    func load(
        from sequence: UInt64,
        limits: RunLimits,
        signed: Bool,
        builder: consuming RunBuilder,
        object: (ObjectIndex) -> ObjectID,
        name: (NameIndex) -> String
    ) -> Run? {
        guard self.change(sequence) != nil else { return nil }
        let last = self.lastSequence(from: sequence, limits: limits, signed: signed)
        for sequence in sequence...last {
            let change = self.changes[Int(sequence) - 1]
            builder.beginChange(
                stamp: change.stamp,
                context: self.contexts[change.context],
                blinding: self.blinding[change.blinding],
                hasLeftOut: change.hasLeftOut
            )
            for operation in self.operations[change.operations] {
                self.append(operation, to: &builder, object: object, name: name)
            }
        }
        return builder.signed(self.signature(at: last))
    }

    /// A run with nothing but one operation of a change.
    func loadOne(
        _ index: UInt32,
        of sequence: UInt64,
        builder: consuming RunBuilder,
        object: (ObjectIndex) -> ObjectID,
        name: (NameIndex) -> String
    ) -> Run? {
        guard let change = self.change(sequence), Int(index) < change.operations.count else { return nil }
        builder.beginChange(stamp: change.stamp, context: [], blinding: [])
        let operation = self.operations[change.operations.lowerBound + Int(index)]
        self.append(operation, to: &builder, object: object, name: name)
        return builder.run
    }

    private func append(
        _ operation: StoredOperation,
        to builder: inout RunBuilder,
        object: (ObjectIndex) -> ObjectID,
        name: (NameIndex) -> String
    ) {
        var operand: UInt32 = 0
        if operation.kind.hasName {
            operand = builder.index(ofName: name(NameIndex(rawValue: operation.operand)))
        } else if operation.operand > 0 {
            operand = builder.index(of: object(ObjectIndex(rawValue: operation.operand - 1))) + 1
        }
        let payload = operation.payloadOffset..<operation.payloadOffset + Int(operation.payloadByteCount)
        builder.append(
            kind: operation.kind,
            grant: operation.grant == 0 ? 0 : builder.index(of: self.grants[Int(operation.grant) - 1]) + 1,
            object: operation.kind.hasObject ? builder.index(of: object(operation.object)) : 0,
            operand: operand,
            payload: self.payload[payload]
        )
    }

    private func signature(at sequence: UInt64) -> Signature? {
        let position = self.firstSignature(from: sequence)
        guard position < self.signatures.count, self.signatures[position].sequence == sequence else { return nil }
        return self.signatures[position].signature
    }

    /// The position of the first signature at or after a sequence.
    private func firstSignature(from sequence: UInt64) -> Int {
        var range = 0..<self.signatures.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if self.signatures[middle].sequence < sequence {
                range = middle + 1..<range.upperBound
            } else {
                range = range.lowerBound..<middle
            }
        }
        return range.lowerBound
    }

    private func lastSequence(from sequence: UInt64, limits: RunLimits, signed: Bool) -> UInt64 {
        var last = sequence
        var operationCount = 0
        var byteCount = 0
        while last <= UInt64(self.changes.count), last - sequence < UInt64(limits.changeCountMax) {
            let change = self.changes[Int(last) - 1]
            operationCount += change.operations.count
            byteCount += change.operations.reduce(0) { $0 + Int(self.operations[$1].payloadByteCount) }
            if last > sequence, operationCount > limits.operationCountMax || byteCount > limits.byteCountMax { break }
            last += 1
        }
        last = max(sequence, last - 1)
        guard signed else { return last }
        let next = self.firstSignature(from: last)
        if next < self.signatures.count, self.signatures[next].sequence == last { return last }
        if next > 0, self.signatures[next - 1].sequence >= sequence { return self.signatures[next - 1].sequence }
        return next < self.signatures.count ? self.signatures[next].sequence : UInt64(self.changes.count)
    }
}
