import CRDTCore
import CSQLite

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
        let kind = StoredKind.kind(self.statement.int64(1))
        var row = Row(
            kind: kind,
            object: self.statement.object(2),
            operand: self.statement.isNull(3) ? nil : self.statement.int64(3)
        )
        if kind == .create, row.operand != nil {
            row.creation = (type: self.statement.name(3), kind: self.statement.name(4))
            self.payload.removeAll(keepingCapacity: true)
        } else {
            self.payload = try Self.payload(of: number, self.statement, kindAt: 1, valueAt: 4)
        }
        return row
    }

    /// Makes the payload of an operation from two columns of its row.
    static func payload(
        of number: Int64,
        _ statement: Statement,
        kindAt kindColumn: Int32,
        valueAt column: Int32
    ) throws(StoreError) -> [UInt8] {
        let stored = statement.int64(kindColumn)
        guard stored < 0 else { return statement.bytes(column) }
        guard let tag = StoredKind.tag(stored) else {
            throw .damaged("operation \(number) in the log has a value of an unknown type")
        }
        var payload = [tag.rawValue]
        switch tag {
        case .null, .false, .true:
            break
        case .int:
            payload.appendZigzag(statement.int64(column))
        case .double where statement.type(column) == SQLITE_FLOAT:
            payload.appendBigEndian(statement.double(column).bitPattern)
        case .double, .string, .document, .bytes, .blob:
            payload.append(contentsOf: statement.borrowedBytes(column))
        }
        return payload
    }
}
