package import CRDTCore

extension SQLiteTransaction {
    package func appendLog(_ verified: VerifiedRun, indexes: RunIndexes) throws(StoreError) {
        let run = verified.run
        var grants: [Int64] = []
        for grant in run.grants { grants.append(try self.grantNumber(grant)) }
        var sizes = RunSize()
        // The payload must lie still while statements point into it.
        let failure: StoreError? = run.payload.withUnsafeBytes { payload in
            do throws(StoreError) {
                let writer = OperationWriter(statement: try self.statements[.insertOperation], payload: payload)
                for (position, change) in run.changes.enumerated() {
                    let first = self.identifiers.next.operation
                    let byteCount = try self.append(change, of: run, indexes, grants: grants, to: writer)
                    let point = LinePoint(line: indexes.line, sequence: run.firstSequence + UInt64(position))
                    try self.append(
                        change,
                        of: run,
                        at: point,
                        operations: first,
                        byteCount: byteCount,
                        hash: verified.hashes[position]
                    )
                    sizes.add(operationCount: Int64(change.operationCount), byteCount: byteCount)
                }
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        if let signature = run.signature, !run.changes.isEmpty {
            try self.append(signature, at: LinePoint(line: indexes.line, sequence: run.lastSequence), sizes)
        }
    }

    /// Appends a change's operations.
    ///
    /// Returns how many payload bytes they have.
    private func append(
        _ change: Change,
        of run: Run,
        _ indexes: RunIndexes,
        grants: [Int64],
        to writer: OperationWriter
    ) throws(StoreError) -> Int64 {
        var byteCount: Int64 = 0
        for position in change.operationRange {
            let operation = run.operations[position]
            var references = OperationWriter.References(number: self.identifiers.next.operation)
            if operation.kind.hasObject { references.object = indexes.objects[Int(operation.object)] }
            if operation.kind.hasName {
                references.operand = Int64(indexes.names[Int(operation.operand)].rawValue)
            } else if operation.kind == .move, operation.operand > 0 {
                references.operand = Int64(indexes.objects[Int(operation.operand) - 1].rawValue)
            } else if operation.kind == .create {
                references.creation = try self.creation(run.payload[operation.payloadRange])
            }
            if operation.grant > 0 { references.grant = grants[Int(operation.grant) - 1] }
            try writer.write(operation, references)
            self.identifiers.next.operation += 1
            byteCount += Int64(operation.payloadByteCount)
        }
        return byteCount
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
        at point: LinePoint,
        operations: Int64,
        byteCount: Int64,
        hash: Hash256
    ) throws(StoreError) {
        var context: [UInt8] = []
        for entry in run.contextEntries[change.contextRange] {
            StoredBytes.encode(entry, firstLine: self.firstLine(of: entry.replica), to: &context)
        }
        let statement = try self.statements[.insertChange]
        statement.bind(point)
        statement.bind(3, bits: change.stamp.rawValue)
        statement.bind(4, operations)
        statement.bind(5, change.operationCount)
        statement.bind(6, byteCount)
        statement.bind(7, context)
        statement.bind(8, change.hasLeftOut)
        statement.bind(9, Array(run.blinding(of: change)))
        statement.bind(10, hash.bytes.array)
        try statement.run()
    }

    // MARK: - Signatures

    /// What lies between two kept signatures.
    struct RunSize {
        /// Many more than any run that was ever signed at once.
        static let countMax: Int64 = 1 << 48

        var operationCount: Int64 = 0
        var byteCount: Int64 = 0

        mutating func add(operationCount: Int64, byteCount: Int64) {
            self.operationCount += operationCount
            self.byteCount += byteCount
        }
    }

    /// Keeps the signature at the end of a run.
    ///
    /// The one kept before it is dropped if the changes since the one before that still make a small run: changes
    /// signed one by one must not keep 64 bytes each for ever.
    private func append(
        _ signature: Signature,
        at point: LinePoint,
        _ size: RunSize
    ) throws(StoreError) {
        var size = size
        let kept = try self.lastSignatures(of: point.line)
        if let last = kept.first {
            let start = kept.count > 1 ? kept[1].sequence : self.progress(of: point.line).firstSequence - 1
            guard last.sequence < point.sequence else { throw .damaged("a signature in the log is beyond its end") }
            var joined = size
            joined.add(operationCount: last.size.operationCount, byteCount: last.size.byteCount)
            if SignatureThinning.mayJoin(changeCount: point.sequence - start, joined) {
                let statement = try self.statements[.deleteSignature]
                statement.bind(LinePoint(line: point.line, sequence: last.sequence))
                try statement.run()
                size = joined
            }
        }
        let statement = try self.statements[.insertSignature]
        statement.bind(point)
        statement.bind(3, size.operationCount)
        statement.bind(4, size.byteCount)
        statement.bind(5, signature.array)
        try statement.run()
    }

    private func lastSignatures(of line: LineIndex) throws(StoreError) -> [(sequence: UInt64, size: RunSize)] {
        let statement = try self.statements[.lastSignatures]
        defer { statement.reset() }
        statement.bind(1, line.rawValue)
        var signatures: [(sequence: UInt64, size: RunSize)] = []
        while try statement.step() {
            let (operationCount, byteCount) = (statement.int64(1), statement.int64(2))
            let next = signatures.last?.sequence ?? .max
            guard statement.bits(0) < next, min(operationCount, byteCount) >= 0,
                max(operationCount, byteCount) <= RunSize.countMax
            else { throw .damaged("a signature in the log cannot be where it is") }
            let size = RunSize(operationCount: operationCount, byteCount: byteCount)
            signatures.append((sequence: statement.bits(0), size: size))
        }
        return signatures
    }

    // MARK: - Grants

    private func grantNumber(_ grant: GrantID) throws(StoreError) -> Int64 {
        if let number = self.identifiers.grants[grant] { return number }
        let number: Int64
        if let stored = try self.storedGrant(grant) {
            number = stored
        } else {
            number = self.identifiers.next.grant
            let statement = try self.statements[.insertGrant]
            SQLiteTransaction.bind(grant, to: statement)
            statement.bind(4, number)
            try statement.run()
            self.identifiers.next.grant += 1
        }
        self.identifiers.grants[grant] = number
        return number
    }

    private func storedGrant(_ grant: GrantID) throws(StoreError) -> Int64? {
        let statement = try self.statements[.grantByContent]
        defer { statement.reset() }
        SQLiteTransaction.bind(grant, to: statement)
        return try statement.step() ? statement.int64(0) : nil
    }

    private static func bind(_ grant: GrantID, to statement: Statement) {
        statement.bind(1, grant.dot.replica.bytes)
        statement.bind(2, bits: grant.dot.sequence)
        statement.bind(3, grant.index)
    }
}

/// Which signatures are worth keeping.
enum SignatureThinning {
    static let changeCountMax: UInt64 = 64
    static let operationCountMax: Int64 = 4096
    /// Small beside what a link carries before it breaks: nothing less than a signed run can be kept of a transfer.
    static let byteCountMax: Int64 = 8 << 10

    /// Whether changes behind a kept signature may do with one signature at their end.
    static func mayJoin(changeCount: UInt64, _ size: SQLiteTransaction.RunSize) -> Bool {
        changeCount <= self.changeCountMax && size.operationCount <= self.operationCountMax
            && size.byteCount <= self.byteCountMax
    }
}
