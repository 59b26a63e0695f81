import CRDTCore

/// Writes operations of one run into the log.
struct OperationWriter {
    private var rows: RowWriter
    /// The payload bytes of the run; they stay where they are while the writer is used.
    private let payload: UnsafeRawBufferPointer

    init(_ statements: StatementCache, payload: UnsafeRawBufferPointer) throws(StoreError) {
        let (single, group) = (try statements[.insertOperation], try statements[.insertOperationGroup])
        self.rows = RowWriter(single: single, group: group, columnCount: 5)
        self.payload = payload
    }

    // The parameters of `StoreQuery.insertOperation`.
    private static let kind: Int32 = 2
    private static let operand: Int32 = 4
    private static let value: Int32 = 5

    /// The numbers that an operation refers to in the database.
    struct References {
        var number: Int64
        var object: ObjectIndex?
        var operand: Int64?
        /// The numbers of a creation's type and kind.
        var creation: (type: NameIndex, kind: NameIndex)?
    }

    /// Writes the next of so many operations.
    mutating func write(
        _ operation: Operation,
        _ references: References,
        nextOf count: Int
    ) throws(StoreError) {
        let range = operation.payloadRange
        guard range.upperBound <= self.payload.count else {
            throw .damaged("an operation's payload is outside its run")
        }
        let bytes = UnsafeRawBufferPointer(rebasing: self.payload[range])
        try self.rows.write(nextOf: count) { row in
            row.bind(1, references.number)
            row.bind(3, references.object)
            row.bind(OperationWriter.operand, references.operand)
            if operation.kind == .set, OperationWriter.bind(value: bytes, to: row) { return }
            row.bind(OperationWriter.kind, operation.kind)
            if let creation = references.creation {
                row.bind(OperationWriter.operand, creation.type)
                row.bind(OperationWriter.value, creation.kind)
            } else if bytes.isEmpty {
                row.bindNull(OperationWriter.value)
            } else {
                row.bind(OperationWriter.value, borrowing: bytes)
            }
        }
    }

    /// Binds a value as SQLite's own type, and its kind.
    ///
    /// Returns whether its bytes can be made again from that.
    private static func bind(value bytes: UnsafeRawBufferPointer, to row: Statement) -> Bool {
        guard let first = bytes.first, let tag = ValueTag(rawValue: first) else { return false }
        let content = UnsafeRawBufferPointer(rebasing: bytes[1...])
        switch tag {
        case .null:
            guard content.isEmpty else { return false }
            row.bindNull(OperationWriter.value)
        case .false, .true:
            guard content.isEmpty else { return false }
            row.bind(OperationWriter.value, tag == .true)
        case .int:
            guard let number = OperationWriter.zigzag(content) else { return false }
            row.bind(OperationWriter.value, number)
        case .double:
            guard content.count == 8 else { return false }
            let bits = UInt64(bigEndian: content.loadUnaligned(as: UInt64.self))
            let number = Double(bitPattern: bits)
            if number.isNaN {
                // SQLite makes NULL of what is not a number.
                row.bind(OperationWriter.value, borrowing: content)
            } else {
                row.bind(OperationWriter.value, number)
            }
        case .string, .document:
            row.bind(OperationWriter.value, borrowingText: content)
        case .bytes, .blob:
            row.bind(OperationWriter.value, borrowing: content)
        }
        row.bind(OperationWriter.kind, StoredKind.set(tag))
        return true
    }

    /// The number that all of the bytes are the shortest encoding of; nil if they are not.
    private static func zigzag(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        var raw: UInt64 = 0
        guard !bytes.isEmpty, bytes.count <= 10 else { return nil }
        for (place, byte) in bytes.enumerated() {
            let isLast = place == bytes.count - 1
            guard (byte < 0x80) == isLast, place < 9 || byte <= 1, !isLast || place == 0 || byte > 0 else { return nil }
            raw |= UInt64(byte & 0x7f) << UInt64(7 * place)
        }
        return Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1)
    }
}
