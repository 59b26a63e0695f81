import CRDTCore
import GRDBSQLite

/// Reads the log's operations from one number on, and makes their payloads again.
struct OperationReader {
    private let statement: Statement
    /// The number of the row that the next step gives if the log goes on there; nil before the first.
    private var next: Int64?
    private(set) var payload: [UInt8] = []

    /// What one row says besides the payload.
    struct Row {
        var kind: OperationKind
        var object: ObjectIndex
        var operand: Int64?
        var grant: Int64?
        /// The numbers of a creation's type and kind, which the payload is yet to be made of.
        var creation: (type: NameIndex, kind: NameIndex)?
    }

    init(statement: Statement) { self.statement = statement }

    func finish() { self.statement.reset() }

    /// Reads the operation with a number.
    ///
    /// Going on from one to the next is one step in the table.
    mutating func read(_ number: Int64) throws(StoreError) -> Row {
        if self.next != number {
            self.statement.reset()
            self.statement.bind(1, number)
        }
        guard try self.statement.step(), self.statement.int64(0) == number else {
            throw .damaged("operation \(number) is missing from the log")
        }
        self.next = number + 1
        let kind = OperationKind(rawValue: UInt8(truncatingIfNeeded: self.statement.int64(1)))
        var row = Row(
            kind: kind,
            object: ObjectIndex(rawValue: self.statement.uint32(2)),
            operand: self.statement.isNull(3) ? nil : self.statement.int64(3),
            grant: self.statement.isNull(4) ? nil : self.statement.int64(4)
        )
        self.payload.removeAll(keepingCapacity: true)
        let tag = self.statement.isNull(5) ? nil : self.statement.int64(5)
        if let tag, tag != StoredTag.raw {
            try self.makeValue(tag, number)
        } else if kind == .create, tag == nil {
            row.creation = (
                type: NameIndex(rawValue: self.statement.uint32(3)),
                kind: NameIndex(rawValue: self.statement.uint32(6))
            )
        } else {
            self.payload.append(contentsOf: self.statement.borrowedBytes(6))
        }
        return row
    }

    private mutating func makeValue(_ stored: Int64, _ number: Int64) throws(StoreError) {
        guard let tag = UInt8(exactly: stored).flatMap({ ValueTag(rawValue: $0) }) else {
            throw .damaged("operation \(number) in the log has an unknown tag")
        }
        self.payload.append(tag.rawValue)
        switch tag {
        case .null, .false, .true:
            break
        case .int:
            self.payload.appendZigzag(self.statement.int64(6))
        case .double where self.statement.type(6) == SQLITE_FLOAT:
            self.payload.appendBigEndian(self.statement.double(6).bitPattern)
        case .double, .string, .document, .bytes, .blob:
            self.payload.append(contentsOf: self.statement.borrowedBytes(6))
        }
    }
}
