import CRDTCore

/// Writes operations of one run into the log.
struct OperationWriter {
    let statement: Statement
    /// The payload bytes of the run; they stay where they are while the writer is used.
    let payload: UnsafeRawBufferPointer

    // The parameters of `StoreQuery.insertOperation`.
    private static let operand: Int32 = 4
    private static let tag: Int32 = 6
    private static let value: Int32 = 7

    /// The numbers that an operation refers to in the database.
    struct References {
        var number: Int64
        var object: ObjectIndex?
        var operand: Int64?
        var grant: Int64?
        /// The numbers of a creation's type and kind.
        var creation: (type: NameIndex, kind: NameIndex)?
    }

    func write(_ operation: Operation, _ references: References) throws(StoreError) {
        let range = operation.payloadRange
        guard range.upperBound <= self.payload.count else {
            throw .damaged("an operation's payload is outside its run")
        }
        self.statement.bind(1, references.number)
        self.statement.bind(2, Int64(operation.kind.rawValue))
        self.statement.bind(3, references.object.map { Int64($0.rawValue) })
        self.statement.bind(OperationWriter.operand, references.operand)
        self.statement.bind(5, references.grant)
        self.bindPayload(operation.kind, UnsafeRawBufferPointer(rebasing: self.payload[range]), references)
        try self.statement.run()
    }

    private func bindPayload(_ kind: OperationKind, _ bytes: UnsafeRawBufferPointer, _ references: References) {
        switch kind {
        case .set where self.bindValue(bytes):
            break
        case .create:
            guard let creation = references.creation else { return self.bindRaw(bytes) }
            self.statement.bind(OperationWriter.operand, creation.type.rawValue)
            self.statement.bindNull(OperationWriter.tag)
            self.statement.bind(OperationWriter.value, creation.kind.rawValue)
        case .unset where bytes.isEmpty, .delete where bytes.isEmpty:
            self.statement.bindNull(OperationWriter.tag)
            self.statement.bindNull(OperationWriter.value)
        case .set, .unset, .delete:
            self.bindRaw(bytes)
        default:
            self.statement.bindNull(OperationWriter.tag)
            self.statement.bind(OperationWriter.value, borrowing: bytes)
        }
    }

    private func bindRaw(_ bytes: UnsafeRawBufferPointer) {
        self.statement.bind(OperationWriter.tag, StoredTag.raw)
        self.statement.bind(OperationWriter.value, borrowing: bytes)
    }

    /// Binds a value as SQLite's own type.
    ///
    /// Returns whether its bytes can be made again from that.
    private func bindValue(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = bytes.first, let tag = ValueTag(rawValue: first) else { return false }
        let content = UnsafeRawBufferPointer(rebasing: bytes[1...])
        switch tag {
        case .null:
            guard content.isEmpty else { return false }
            self.statement.bindNull(OperationWriter.value)
        case .false, .true:
            guard content.isEmpty else { return false }
            self.statement.bind(OperationWriter.value, tag == .true)
        case .int:
            guard let number = OperationWriter.zigzag(content) else { return false }
            self.statement.bind(OperationWriter.value, number)
        case .double:
            guard content.count == 8 else { return false }
            let bits = UInt64(bigEndian: content.loadUnaligned(as: UInt64.self))
            let number = Double(bitPattern: bits)
            if number.isNaN {
                // SQLite makes NULL of what is not a number.
                self.statement.bind(OperationWriter.value, borrowing: content)
            } else {
                self.statement.bind(OperationWriter.value, number)
            }
        case .string, .document:
            self.statement.bind(OperationWriter.value, borrowingText: content)
        case .bytes, .blob:
            self.statement.bind(OperationWriter.value, borrowing: content)
        }
        self.statement.bind(OperationWriter.tag, Int64(tag.rawValue))
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
