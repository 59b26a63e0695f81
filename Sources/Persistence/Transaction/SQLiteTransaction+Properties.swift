package import CRDTCore

/// Values in force, straight from the log: one statement for all properties of an object.
extension SQLiteTransaction {
    package func properties(of object: ObjectIndex) throws(StoreError) -> [(name: String, value: Value)] {
        let statement = try self.properties(from: .first(of: object), through: .last(of: object))
        defer { statement.reset() }
        var properties: [(name: String, value: Value)] = []
        while try statement.step() {
            guard let value = try self.value(statement) else { continue }
            properties.append((statement.text(3), value))
        }
        return properties
    }

    /// The value in force of a property; nil if there is none.
    package func value(of name: NameIndex, on object: ObjectIndex) throws(StoreError) -> Value? {
        let key = RegisterKey(object: object, name: name)
        let statement = try self.properties(from: key, through: key)
        defer { statement.reset() }
        return try statement.step() ? try self.value(statement) : nil
    }

    private func properties(
        from first: RegisterKey,
        through last: RegisterKey
    ) throws(StoreError) -> Statement {
        try self.flush()
        let statement = try self.statements[.propertiesOfObject]
        statement.bindAll(first, last)
        return statement
    }

    /// The value in the row of an operation; nil if it is none that this version knows.
    private func value(_ statement: Statement) throws(StoreError) -> Value? {
        guard !statement.isNull(0), !statement.isNull(3) else {
            throw .damaged("the write of a property is missing from the log")
        }
        guard StoredKind.kind(statement.int64(1)) == .set else { return nil }
        let number = statement.int64(0)
        let payload = try OperationReader.payload(of: number, statement, kindAt: 1, valueAt: 2)
        do throws(WireError) {
            return try Value(encoded: payload)
        } catch {
            throw .damaged("operation \(number) in the log cannot be read")
        }
    }
}
