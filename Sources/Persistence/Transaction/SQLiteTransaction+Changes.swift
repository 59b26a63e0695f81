package import CRDTCore

/// Which commits changed which objects.
///
/// Commits that change objects are numbered, in each database by itself, and each object's row has the number of the
/// last one that changed it. So whoever knows up to which commit he has seen everything finds what has changed since,
/// however long ago that was, and the database keeps nothing for him.
extension SQLiteTransaction {
    package var lastCommit: Int64 { self.commits.last }

    /// Objects that have changed behind a place, in the order of the commits that changed them last.
    ///
    /// - Complexity: O(log *n* + *m*) for *m* objects of *n*.
    package func changedObjects(after place: ChangePlace, limit: Int) throws(StoreError) -> [ChangedObject] {
        try self.flush()
        return try self.statements[.changedObjects].rows(place.commit, place.object, limit) { ChangedObject($0) }
    }

    package func changePlaces(after place: ChangePlace, limit: Int) throws(StoreError) -> [ChangePlace] {
        try self.changedObjects(after: place, limit: limit).map { changed in
            ChangePlace(commit: changed.changed, object: Int64(changed.index.rawValue))
        }
    }

    /// A number that is another one whenever another connection has committed something.
    package func dataVersion() throws(StoreError) -> Int64 {
        try self.statements[.dataVersion].first { $0.int64(0) } ?? 0
    }

    /// Which commits changed an object last.
    package func changes(of object: ObjectIndex) throws(StoreError) -> ChangedObject? {
        try self.flush()
        return try self.statements[.changesOfObject].first(object) { ChangedObject($0) }
    }

    /// The segment of the last move of an object that has effect; nil if there is none.
    package func segmentOfLastMove(of object: ObjectIndex) throws(StoreError) -> SegmentIndex? {
        try self.statements[.lastMove].first(object) { row throws(StoreError) in try self.segment(row) }
    }

    /// The segment of the last deletion of an object; nil if there is none.
    package func segmentOfLastDeletion(of object: ObjectIndex) throws(StoreError) -> SegmentIndex? {
        try self.statements[.lastDeletion].first(RegisterKey.last(of: object)) { row throws(StoreError) in
            try self.segment(row)
        }
    }

    private func segment(_ row: Statement) throws(StoreError) -> SegmentIndex {
        guard let segment = UInt32(exactly: row.int64(0)), segment < self.segmentCount else {
            throw .damaged("a row of the database names a segment that cannot be")
        }
        return SegmentIndex(rawValue: segment)
    }

    /// The properties of an object that have changed since a commit, with the writes in force.
    ///
    /// - Complexity: O(*n*) for *n* properties that the object has or had.
    package func changedRegisters(
        of object: ObjectIndex,
        since commit: Int64
    ) throws(StoreError) -> [(name: NameIndex, register: Register)] {
        try self.flush()
        let statement = try self.statements[.changedRegisters]
        defer { statement.reset() }
        statement.bindAll(RegisterKey.first(of: object), RegisterKey.last(of: object), commit)
        var found: [(name: NameIndex, register: Register)] = []
        while try statement.step() {
            let name = RegisterKey(rowNumber: statement.int64(5)).name
            if name != .lifetime { found.append((name, try self.register(statement))) }
        }
        return found
    }

    /// The number of the running transaction, which changes objects.
    func takeCommit() -> Int64 { self.commits.take() }

    /// The same as all connections see it, between two transactions.
    package func storedLastCommit() throws(StoreError) -> Int64 {
        let last = try self.statements[.lastCommit].first { $0.int64(0) } ?? 0
        guard (0..<Int64.max / 2).contains(last) else {
            throw .damaged("an object in the database was changed by a commit that cannot be")
        }
        return last
    }
}

/// An object, and the last commits that changed anything of it, that made it show, that made it show no more, and that
/// changed its parent, type or kind.
package struct ChangedObject: Hashable, Sendable {
    package var index: ObjectIndex
    package var changed: Int64
    package var shown: Int64
    package var hidden: Int64
    package var placed: Int64

    init(_ statement: Statement) {
        self.index = statement.object(0)
        (self.changed, self.shown) = (statement.int64(1), statement.int64(2))
        (self.hidden, self.placed) = (statement.int64(3), statement.int64(4))
    }
}

/// The numbers of commits that change objects.
struct CommitNumbers {
    private(set) var last: Int64 = 0
    /// Whether the running transaction changes objects.
    private(set) var isTaken = false

    init(last: Int64 = 0) { self.last = last }

    /// The number of the running transaction, if it changes objects.
    var running: Int64 { self.last + 1 }

    mutating func take() -> Int64 {
        self.isTaken = true
        return self.running
    }

    mutating func commit() {
        if self.isTaken { self.last += 1 }
        self.isTaken = false
    }

    mutating func rollback() { self.isTaken = false }
}
