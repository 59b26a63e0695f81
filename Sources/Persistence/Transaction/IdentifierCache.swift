import CRDTCore

/// The numbers of the ids that were used lately, and the next numbers to give out.
struct IdentifierCache {
    var objects: [CircledObjectID: ObjectIndex] = [:]
    var names: [ExactText: NameIndex] = [:]
    var nameTexts: [NameIndex: String] = [:]
    var next = NextNumbers()
    private var committed = NextNumbers()

    /// The number of the next new object, name and operation.
    struct NextNumbers: Equatable {
        var object: Int64 = 0
        var name: Int64 = 0
        var operation: Int64 = 0
    }

    /// How many ids of one kind are kept.
    private static let countMax = 1 << 16

    /// Numbers run below 2^31, so that two of them make a key that SQLite can hold.
    static let numberMax = Int64(Int32.max)
    /// No rows of any kind come to have such a number.
    static let nextNumberMax: Int64 = 1 << 60

    /// Forgets what has become too much.
    ///
    /// Only to be called when no number exists that the database does not hold.
    mutating func trim() {
        if self.objects.count > IdentifierCache.countMax { self.objects = [:] }
        if self.names.count > IdentifierCache.countMax { self.names = [:] }
        if self.nameTexts.count > IdentifierCache.countMax { self.nameTexts = [:] }
    }

    mutating func commit() { self.committed = self.next }

    /// Takes back the numbers given out since the last commit, and forgets all ids, since theirs may be among them.
    mutating func rollback() {
        guard self.next != self.committed else { return }
        self.objects = [:]
        self.names = [:]
        self.nameTexts = [:]
        self.next = self.committed
    }
}
