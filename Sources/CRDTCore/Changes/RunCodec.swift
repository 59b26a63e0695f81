/// A run as bytes: tables first, then one column for each field, so that like stands beside like and compresses.
///
/// The transport compresses these bytes; they are bounded before they get here.
extension Run {
    /// The version of the encoding below.
    package static let formatVersion: UInt8 = 1

    /// The bytes of the run with its signature.
    ///
    /// - Complexity: O(*n*) in the operations and payload bytes.
    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(self.payload.count + self.operations.count * 4 + self.objects.count * 16 + 512)
        bytes.append(Run.formatVersion)
        self.replica.bytes.append(to: &bytes)
        bytes.appendVarint(self.firstSequence)
        bytes.append(self.previous == nil ? 0 : 1)
        if let previous = self.previous { bytes.appendBigEndian(previous.rawValue) }
        self.encodeTables(to: &bytes)
        self.encodeChanges(to: &bytes)
        self.encodeOperations(to: &bytes)
        bytes.append(self.signature == nil ? 0 : 1)
        if let signature = self.signature { bytes.append(contentsOf: signature.array) }
        return bytes
    }

    private func encodeTables(to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(self.objects.count))
        for object in self.objects { object.bytes.append(to: &bytes) }
        bytes.appendVarint(UInt64(self.names.count))
        for name in self.names { bytes.appendPrefixed(Array(name.utf8)) }
    }

    private func encodeChanges(to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(self.changes.count))
        var previousStamp: UInt64 = 0
        for change in self.changes {
            bytes.appendZigzag(Int64(bitPattern: change.stamp.rawValue &- previousStamp))
            previousStamp = change.stamp.rawValue
        }
        for change in self.changes { bytes.appendVarint(UInt64(change.operationCount)) }
        for change in self.changes { bytes.appendVarint(UInt64(change.contextCount)) }
        for change in self.changes { bytes.append(change.redaction.rawValue) }
        var replicas: [ReplicaID] = []
        var indexes: [ReplicaID: UInt64] = [:]
        for entry in self.contextEntries where indexes[entry.replica] == nil {
            indexes[entry.replica] = UInt64(replicas.count)
            replicas.append(entry.replica)
        }
        bytes.appendVarint(UInt64(replicas.count))
        for replica in replicas { replica.bytes.append(to: &bytes) }
        for entry in self.contextEntries {
            bytes.appendVarint(indexes[entry.replica] ?? 0)
            bytes.appendVarint(entry.sequence)
            bytes.appendBigEndian(entry.name.rawValue)
        }
    }

    private func encodeOperations(to bytes: inout [UInt8]) {
        RunLengths.encode(self.operations.lazy.map { UInt64($0.kind.rawValue) }, to: &bytes)
        var previousObject: Int64 = 0
        for operation in self.operations where operation.kind.hasObject {
            bytes.appendZigzag(Int64(operation.object) - previousObject)
            previousObject = Int64(operation.object)
        }
        for operation in self.operations where operation.kind.hasOperand {
            bytes.appendVarint(UInt64(operation.operand))
        }
        for operation in self.operations { bytes.appendVarint(UInt64(operation.payloadByteCount)) }
        bytes.append(contentsOf: self.payload)
        bytes.append(contentsOf: self.blinding)
    }

    /// Reads a run that fills all of `bytes`.
    ///
    /// Nothing is allocated for more than the bytes can hold, or than a run may have.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        let limit = Limits.runByteCountMax + Limits.redactionByteCountMax + Limits.runHeaderByteCountMax
        guard bytes.count <= limit else { throw .overLimit }
        var reader = ByteReader(bytes)
        guard try reader.byte() == Run.formatVersion else { throw .unknownKind }
        self.init(replica: ReplicaID(bytes: try reader.bytes16()), firstSequence: try reader.varint())
        guard self.firstSequence >= 1,
            self.firstSequence <= Limits.sequenceMax - UInt64(Limits.runChangeCountMax)
        else { throw .overLimit }
        switch try reader.byte() {
        case 0: break
        case 1: self.previous = ChangeName(rawValue: try reader.bigEndian())
        default: throw .notCanonical
        }
        try self.decodeTables(&reader)
        try self.decodeChanges(&reader)
        try self.decodeOperations(&reader)
        switch try reader.byte() {
        case 0: break
        case 1: self.signature = try reader.signature()
        default: throw .notCanonical
        }
        try reader.finish()
    }

    private mutating func decodeTables(_ reader: inout ByteReader) throws(WireError) {
        // An operation refers to two objects and one name at most, and a table's entry takes more memory than it took
        // bytes: an empty name is one byte, which compression makes next to nothing.
        let objectLimit = 2 * Limits.runOperationCountMax
        let objectCount = try reader.count(atMost: min(objectLimit, reader.remaining / Bytes16.byteCount))
        self.objects.reserveCapacity(objectCount)
        for _ in 0..<objectCount { self.objects.append(ObjectID(bytes: try reader.bytes16())) }
        for _ in 0..<(try reader.count(atMost: min(Limits.runOperationCountMax, reader.remaining))) {
            self.names.append(try reader.text(atMost: Limits.nameByteCountMax))
        }
    }

    private mutating func decodeChanges(_ reader: inout ByteReader) throws(WireError) {
        let changeCount = try reader.count(atMost: min(Limits.runChangeCountMax, reader.remaining))
        var stamps: [Stamp] = []
        var previousStamp: UInt64 = 0
        for _ in 0..<changeCount {
            previousStamp &+= UInt64(bitPattern: try reader.zigzag())
            stamps.append(Stamp(rawValue: previousStamp))
        }
        var operationCounts: [Int] = []
        var operationTotal = 0
        for _ in 0..<changeCount {
            operationCounts.append(try reader.count(atMost: Limits.changeOperationCountMax))
            operationTotal += operationCounts[operationCounts.count - 1]
        }
        guard operationTotal <= Limits.runOperationCountMax else { throw .overLimit }
        var contextCounts: [Int] = []
        var contextTotal = 0
        for _ in 0..<changeCount {
            contextCounts.append(try reader.count(atMost: Limits.contextEntryCountMax))
            contextTotal += contextCounts[contextCounts.count - 1]
        }
        guard contextTotal <= Limits.runByteCountMax / ChangeSize.contextEntryByteCount else { throw .overLimit }
        // Each entry takes at least ten bytes.
        guard contextTotal <= reader.remaining / 10 else { throw .truncated }
        for position in 0..<changeCount {
            guard let redaction = Redaction(rawValue: try reader.byte()) else { throw .notCanonical }
            let operationStart = self.changes.last.map { $0.operationRange.upperBound } ?? 0
            let contextStart = self.changes.last.map { $0.contextRange.upperBound } ?? 0
            self.changes.append(
                Change(
                    stamp: stamps[position],
                    contextStart: UInt32(contextStart),
                    contextCount: UInt32(contextCounts[position]),
                    operationStart: UInt32(operationStart),
                    operationCount: UInt32(operationCounts[position]),
                    blindingOffset: 0,
                    blindingByteCount: 0,
                    redaction: redaction
                )
            )
        }
        try self.decodeContexts(&reader, count: contextTotal)
    }

    private mutating func decodeContexts(_ reader: inout ByteReader, count: Int) throws(WireError) {
        var replicas: [ReplicaID] = []
        for _ in 0..<(try reader.count(atMost: min(count, reader.remaining / Bytes16.byteCount))) {
            replicas.append(ReplicaID(bytes: try reader.bytes16()))
        }
        for _ in 0..<count {
            let index = try reader.varint()
            guard index < UInt64(replicas.count) else { throw .badReference }
            let sequence = try reader.varint()
            guard sequence >= 1, sequence <= Limits.sequenceMax else { throw .overLimit }
            let name = ChangeName(rawValue: try reader.bigEndian())
            self.contextEntries.append(Point(replica: replicas[Int(index)], sequence: sequence, name: name))
        }
        for change in self.changes {
            let entries = self.contextEntries[change.contextRange]
            guard zip(entries, entries.dropFirst()).allSatisfy({ $0 < $1 }) else { throw .notCanonical }
        }
    }

    private mutating func decodeOperations(_ reader: inout ByteReader) throws(WireError) {
        let count = self.changes.last.map { $0.operationRange.upperBound } ?? 0
        guard count <= reader.remaining else { throw .truncated }
        self.operations.reserveCapacity(count)
        try RunLengths.decode(&reader, count: count) { kind throws(WireError) in
            guard let kind = UInt8(exactly: kind) else { throw .unknownKind }
            self.operations.append(
                Operation(kind: OperationKind(rawValue: kind), payloadOffset: 0, payloadByteCount: 0)
            )
        }
        try self.decodeOperands(&reader, count: count)
        var offset = 0
        for position in 0..<count {
            let byteCount = try reader.count(atMost: reader.remaining)
            self.operations[position].payloadOffset = UInt32(offset)
            self.operations[position].payloadByteCount = UInt32(byteCount)
            offset += byteCount
            guard offset <= Limits.runByteCountMax + Limits.redactionByteCountMax else { throw .overLimit }
        }
        self.payload = Array(try reader.slice(offset))
        for change in self.changes where !self.isRedactedInOneWay(change) { throw .notCanonical }
        try self.checkTables()
        try self.decodeBlinding(&reader)
    }

    private mutating func decodeBlinding(_ reader: inout ByteReader) throws(WireError) {
        var offset = 0
        for position in self.changes.indices {
            let byteCount = self.requiredBlindingByteCount(of: self.changes[position])
            self.changes[position].blindingOffset = UInt32(offset)
            self.changes[position].blindingByteCount = UInt32(byteCount)
            offset += byteCount
        }
        self.blinding = Array(try reader.slice(offset))
    }

    private mutating func decodeOperands(_ reader: inout ByteReader, count: Int) throws(WireError) {
        var object: Int64 = 0
        for position in 0..<count where self.operations[position].kind.hasObject {
            let (sum, overflow) = object.addingReportingOverflow(try reader.zigzag())
            guard !overflow, sum >= 0, sum < Int64(self.objects.count) else { throw .badReference }
            object = sum
            self.operations[position].object = UInt32(sum)
        }
        for position in 0..<count where self.operations[position].kind.hasOperand {
            let operand = try reader.varint()
            let isMove = self.operations[position].kind == .move
            guard isMove ? operand <= UInt64(self.objects.count) : operand < UInt64(self.names.count) else {
                throw .badReference
            }
            self.operations[position].operand = UInt32(operand)
        }
    }

    /// What a table holds is used: nothing hashes or counts an entry that no operation refers to.
    private func checkTables() throws(WireError) {
        var objects = [Bool](repeating: false, count: self.objects.count)
        var names = [Bool](repeating: false, count: self.names.count)
        for operation in self.operations {
            if operation.kind.hasObject { objects[Int(operation.object)] = true }
            if operation.kind.hasName { names[Int(operation.operand)] = true }
            if operation.kind == .move, operation.operand > 0 { objects[Int(operation.operand) - 1] = true }
        }
        guard objects.allSatisfy(\.self), names.allSatisfy(\.self) else {
            throw .notCanonical
        }
    }

    /// Whether a change and its operations say the same of what is missing.
    package func isRedactedInOneWay(_ change: Change) -> Bool {
        let operations = self.operations[change.operationRange]
        let hasContent = operations.contains(where: \.hasContent)
        let redacted = operations.lazy.filter { $0.kind == .redacted }
        return switch change.redaction {
        case .none: redacted.isEmpty
        case .partial: hasContent && redacted.allSatisfy { Int($0.payloadByteCount) == Bytes32.byteCount }
        case .whole: !hasContent && !redacted.isEmpty && redacted.allSatisfy { $0.payloadByteCount == 0 }
        }
    }
}

/// A column of numbers that repeat: each value once, with the number of times it follows itself.
private enum RunLengths {
    static func encode(_ values: some Sequence<UInt64>, to bytes: inout [UInt8]) {
        var current: (value: UInt64, count: UInt64)?
        for value in values {
            if let open = current, open.value == value {
                current = (value, open.count + 1)
            } else {
                self.flush(current, to: &bytes)
                current = (value, 1)
            }
        }
        self.flush(current, to: &bytes)
    }

    private static func flush(_ group: (value: UInt64, count: UInt64)?, to bytes: inout [UInt8]) {
        guard let group else { return }
        bytes.appendVarint(group.value)
        bytes.appendVarint(group.count)
    }

    static func decode(
        _ reader: inout ByteReader,
        count: Int,
        _ body: (UInt64) throws(WireError) -> Void
    ) throws(WireError) {
        var left = count
        while left > 0 {
            let value = try reader.varint()
            let times = try reader.count(atMost: left)
            guard times > 0 else { throw .notCanonical }
            for _ in 0..<times { try body(value) }
            left -= times
        }
    }
}
