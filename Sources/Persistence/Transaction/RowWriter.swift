import CRDTCore

/// Inserts rows with a statement for several, where there are as many, which takes a quarter less than one by one.
struct RowWriter {
    /// The rows that a statement of a group takes.
    static let groupCount = 8

    private let single: Statement
    private let group: Statement
    private let columnCount: Int32
    /// Of the rows of a group, those that are bound.
    private var boundCount: Int32 = 0

    init(single: Statement, group: Statement, columnCount: Int32) {
        (self.single, self.group, self.columnCount) = (single, group, columnCount)
    }

    /// Writes the next of so many rows, or binds it where more of its group are to come.
    mutating func write(nextOf count: Int, _ bind: (Statement) -> Void) throws(StoreError) {
        if self.boundCount == 0, count < Self.groupCount {
            bind(self.single)
            return try self.single.run()
        }
        bind(self.group.row(self.boundCount, of: self.columnCount))
        self.boundCount += 1
        guard self.boundCount == Self.groupCount else { return }
        self.boundCount = 0
        try self.group.run()
    }
}

extension StoreQuery {
    /// The places for the values of rows.
    static func places(rows count: Int, columns columnCount: Int) -> String {
        let row = "(" + repeatElement("?", count: columnCount).joined(separator: ", ") + ")"
        return repeatElement(row, count: count).joined(separator: ", ")
    }
}
