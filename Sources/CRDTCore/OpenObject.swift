/// The record of the object that was used last.
///
/// Operations on one object follow each other, so most of them find it here and the store is asked once.
struct OpenObject {
    private var index: ObjectIndex?
    private var current = ObjectRecord(id: ObjectID(bytes: Bytes16(high: 0, low: 0)))
    private var isChanged = false

    /// Changes a record in place and returns what the change returns.
    mutating func update(
        _ object: ObjectIndex,
        in transaction: inout some StoreTransaction,
        _ change: (inout ObjectRecord) -> Bool
    ) throws(StoreError) -> Bool {
        try self.open(object, in: &transaction)
        self.isChanged = true
        return change(&self.current)
    }

    /// Looks at a record without copying it.
    mutating func look<Result>(
        at object: ObjectIndex,
        in transaction: inout some StoreTransaction,
        _ body: (ObjectRecord) -> Result
    ) throws(StoreError) -> Result {
        try self.open(object, in: &transaction)
        return body(self.current)
    }

    /// The record of an object.
    mutating func record(
        _ object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> ObjectRecord {
        try self.open(object, in: &transaction)
        return self.current
    }

    /// Replaces the record of an object.
    mutating func set(
        _ record: ObjectRecord,
        at object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        try self.open(object, in: &transaction)
        self.current = record
        self.isChanged = true
    }

    /// Writes back what was changed.
    mutating func close(in transaction: inout some StoreTransaction) throws(StoreError) {
        if let index = self.index, self.isChanged {
            try transaction.setObject(self.current, at: index)
        }
        self.index = nil
        self.isChanged = false
    }

    private mutating func open(
        _ object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard self.index != object else { return }
        try self.close(in: &transaction)
        self.current = try transaction.object(object)
        self.index = object
    }
}
