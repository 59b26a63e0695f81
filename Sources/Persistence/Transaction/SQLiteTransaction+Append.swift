package import CRDTCore

extension SQLiteTransaction {
    package func appendLog(_ verified: VerifiedRun, indexes: RunIndexes) throws(StoreError) {
        let run = verified.run
        var size = ChangeSize.zero
        try self.withWriter(of: run) { writer throws(StoreError) in
            for (position, change) in run.changes.enumerated() {
                // What has no rows is not where programs that read the tables would find another change's.
                let hasRows = !run.hasOnlyRedacted(change)
                let first = hasRows ? self.identifiers.next.operation : Self.noOperations
                if hasRows {
                    self.identifiers.next.operation += Int64(change.operationCount)
                    try self.write(change, at: change.operationRange, of: run, indexes, from: first, to: &writer)
                }
                let point = SegmentPoint(segment: indexes.segment, sequence: run.firstSequence + UInt64(position))
                let own = run.size(of: change)
                try self.append(
                    change,
                    of: run,
                    at: point,
                    operations: first,
                    own,
                    hash: verified.hashes[position],
                    redacted: Self.redactedProperties(of: change, in: run, indexes)
                )
                self.appendedStamps[point] = change.stamp
                size += own
            }
        }
        var transaction = self
        transaction.indexFork(verified, on: indexes.segment)
        if let signature = run.signature, !run.changes.isEmpty {
            try self.append(signature, at: SegmentPoint(segment: indexes.segment, sequence: run.lastSequence), size)
        }
    }

    /// The number of the first operation of a change of which none has a row.
    private static let noOperations: Int64 = -1 << 40

    /// Writes operations of a change, at some positions of its run; those of the change have numbers from one on.
    func insertOperations(
        of change: Change,
        at positions: some Collection<Int>,
        in run: Run,
        _ indexes: RunIndexes,
        from first: Int64
    ) throws(StoreError) {
        try self.withWriter(of: run) { writer throws(StoreError) in
            try self.write(change, at: positions, of: run, indexes, from: first, to: &writer)
        }
    }

    /// Lends a writer for operations of a run.
    private func withWriter(
        of run: Run,
        _ body: (inout OperationWriter) throws(StoreError) -> Void
    ) throws(StoreError) {
        // The payload must lie still while statements point into it.
        try run.payload.withUnsafeBufferPointer { payload throws(StoreError) in
            let bytes = UnsafeRawBufferPointer(payload)
            var writer = try OperationWriter(self.statements, payload: bytes)
            try body(&writer)
        }
    }

    private func write(
        _ change: Change,
        at positions: some Collection<Int>,
        of run: Run,
        _ indexes: RunIndexes,
        from first: Int64,
        to writer: inout OperationWriter
    ) throws(StoreError) {
        var leftCount = positions.count
        for position in positions {
            let operation = run.operations[position]
            let number = first + Int64(position - change.operationRange.lowerBound)
            var references = OperationWriter.References(number: number)
            if operation.kind.hasObject { references.object = indexes.objects[Int(operation.object)] }
            if operation.kind.hasName {
                references.operand = Int64(indexes.names[Int(operation.operand)].rawValue)
            } else if operation.kind == .move, operation.operand > 0 {
                references.operand = Int64(indexes.objects[Int(operation.operand) - 1].rawValue)
            } else if operation.kind == .create {
                references.creation = try self.creation(run.payload[operation.payloadRange])
            }
            try writer.write(operation, references, nextOf: leftCount)
            leftCount -= 1
        }
    }

    private func creation(
        _ payload: ArraySlice<UInt8>
    ) throws(StoreError) -> (type: NameIndex, kind: NameIndex)? {
        guard let body = try? CreationBody(decoding: payload) else { return nil }
        return (type: try self.nameIndex(of: body.type), kind: try self.nameIndex(of: body.kind))
    }

    private func append(
        _ change: Change,
        of run: Run,
        at point: SegmentPoint,
        operations: Int64,
        _ size: ChangeSize,
        hash: Hash256,
        redacted: [UInt8]?
    ) throws(StoreError) {
        var context: [UInt8] = []
        for entry in run.contextEntries[change.contextRange] {
            StoredBytes.encode(entry, firstSegment: self.firstSegment(of: entry.replica), to: &context)
        }
        try self.statements[.insertChange].run(
            point,
            change.stamp,
            operations,
            size.operationCount,
            size.byteCount,
            context,
            change.redaction,
            Array(run.blinding(of: change)),
            hash.bytes,
            redacted
        )
    }

    // MARK: - Signatures

    /// Many more than anything that was ever signed at once.
    private static let signedCountMax: Int64 = 1 << 48

    /// Keeps the signature at the end of a run.
    ///
    /// The one kept before it is dropped if the changes since the one before that still make a small run: changes
    /// signed one by one must not keep 64 bytes each for ever.
    private func append(
        _ signature: Signature,
        at point: SegmentPoint,
        _ size: ChangeSize
    ) throws(StoreError) {
        var size = size
        let kept = try self.lastSignatures(of: point.segment)
        if let last = kept.first {
            let start = kept.count > 1 ? kept[1].sequence : self.progress(of: point.segment).firstSequence - 1
            guard last.sequence < point.sequence else { throw .damaged("a signature in the log is beyond its end") }
            var joined = size
            joined += last.size
            joined.changeCount = Int(point.sequence - start)
            if SignatureThinning.limits.allow(joined) {
                try self.statements[.deleteSignature].run(point.segment, last.sequence)
                size = joined
            }
        }
        try self.statements[.insertSignature].run(point, size.operationCount, size.byteCount, signature.array)
    }

    private func lastSignatures(of segment: SegmentIndex) throws(StoreError) -> [(sequence: UInt64, size: ChangeSize)] {
        let statement = try self.statements[.lastSignatures]
        defer { statement.reset() }
        statement.bind(1, segment)
        var signatures: [(sequence: UInt64, size: ChangeSize)] = []
        while try statement.step() {
            let (operationCount, byteCount) = (statement.int64(1), statement.int64(2))
            let next = signatures.last?.sequence ?? .max
            guard statement.bits(0) < next, min(operationCount, byteCount) >= 0,
                max(operationCount, byteCount) <= Self.signedCountMax
            else { throw .damaged("a signature in the log cannot be where it is") }
            let size = ChangeSize(
                changeCount: 0,
                operationCount: Int(operationCount),
                byteCount: Int(byteCount)
            )
            signatures.append((sequence: statement.bits(0), size: size))
        }
        return signatures
    }
}

/// Which signatures are worth keeping.
enum SignatureThinning {
    /// Changes behind a kept signature that are no more than this do with one signature at their end.
    ///
    /// It is small beside what a link carries before it breaks: nothing less than a signed run can be kept of a
    /// transfer.
    static let limits = RunLimits(changeCountMax: 64, operationCountMax: 4096, byteCountMax: 24 << 10)
}
