package import CRDTCore
internal import Engine

/// One transaction on a `SQLiteStore`: the port's rows, by way of prepared statements.
///
/// The log is written as it comes. Registers, versions and objects are changed in memory and written in the order of
/// their keys when the transaction ends or when they have become many, so that a batch touches each row once.
package final class SQLiteTransaction: NodeTransaction {
    let statements: StatementCache
    var identifiers = IdentifierCache()
    var segments = SegmentTable()
    /// Whether the records of segments have their contexts.
    var hasContexts = false
    /// What others in this process get of the segments.
    let committed: CommittedSegments
    package var forks = ForkIndex()
    package var overlay = CircleOverlay()
    /// What the views have of circles.
    var circleRows = CircleRows()
    var registers = RegisterOverlay()
    var versions = VersionOverlay()
    /// The stamps that changes themselves have: of those that were appended, and the one that was asked for last.
    var appendedStamps: [SegmentPoint: Stamp] = [:]
    var recentStamp: (change: SegmentPoint, stamp: Stamp)?
    var listedNames = ListedNameBlocks()
    var objects = ObjectOverlay()
    var commits = CommitNumbers()
    var placements = Placements()
    /// Whether any write was ever dropped; nil if that is to be looked up.
    ///
    /// Most databases need not be asked for each new property then.
    var hasRedacted: Bool?
    /// Whether anything is missing; nil if it was not asked.
    var hasMissing: Bool?

    /// Rows held in memory before they are written.
    static let overlayCountMax = 1 << 16

    /// `place`: that of the store; nil if it has none that could be lost.
    init(statements: StatementCache, at place: DatabasePlace? = nil) throws(StoreError) {
        self.statements = statements
        self.committed = CommittedSegments(at: place)
        try self.loadSegments()
        try self.loadNumbers()
    }

    // MARK: - Beginning and ending

    /// Writes everything that is only in memory.
    func flush() throws(StoreError) {
        try self.flushObjects()
        try self.flushRegisters()
        try self.flushVersions()
        self.appendedStamps.empty()
        self.identifiers.trim()
    }

    /// Writes what has become too much to keep in memory.
    ///
    /// Objects stay if they are few beside their properties: each later write changes them again.
    func flushIfLarge() throws(StoreError) {
        let count = self.registers.count + self.versions.count + self.objects.count
        guard count >= SQLiteTransaction.overlayCountMax else { return }
        guard self.objects.count < count / 2 else { return try self.flush() }
        try self.flushRegisters()
        try self.flushVersions()
    }

    /// Writes what is left before the commit.
    func prepareCommit() throws(StoreError) {
        try self.flush()
        try self.listUnplaced()
        try self.writeCircles()
        try self.writeSegments()
    }

    /// What SQLite's own check of the file finds wrong, at most three sentences; empty if nothing.
    ///
    /// Reads the whole database.
    package func damages() throws(StoreError) -> [String] {
        let findings = try self.statements[.integrityCheck].rows { $0.text(0) }
        return findings == ["ok"] ? [] : findings
    }

    /// Whether a property stands in no listed block of its name, so that the views for reading leave it out.
    ///
    /// Reads all properties.
    package func hasUnlistedName() throws(StoreError) -> Bool {
        try self.statements[.hasUnlistedName].first { $0.bool(0) } ?? false
    }

    /// The tables, indexes, views and triggers, each with its type and its text.
    package func schema() throws(StoreError) -> Set<[String]> {
        Set(try self.statements[.schema].rows { [$0.text(0), $0.text(1), $0.text(2)] })
    }

    func didCommit() {
        self.segments.commit()
        self.commits.commit()
        self.identifiers.commit()
    }

    /// Takes in what another connection has committed; nothing is held that is not in the database.
    ///
    /// `segments`: all of them with their contexts, if whoever committed has them.
    func reload(_ segments: SegmentTable?) throws(StoreError) {
        (self.hasRedacted, self.hasMissing) = (nil, nil)
        self.circleRows = CircleRows()
        self.segments = segments ?? SegmentTable()
        self.forks = ForkIndex()
        if segments == nil { try self.loadSegments() } else { self.hasContexts = true }
        try self.loadNumbers()
    }

    /// Goes back to what the database holds, after a read.
    ///
    /// What was found of that stays, and is not found again by each write after a read.
    func didRead() {
        let known = self.commits.isTaken ? nil : (overlay: self.overlay, rows: self.circleRows)
        self.didRollback()
        if let known { (self.overlay, self.circleRows) = known }
    }

    /// Goes back to what the database holds.
    func didRollback() {
        self.registers.removeAll()
        self.versions.removeAll()
        self.appendedStamps.empty()
        self.recentStamp = nil
        self.listedNames = ListedNameBlocks()
        self.objects.removeAll()
        self.placements = Placements()
        (self.hasRedacted, self.hasMissing) = (nil, nil)
        self.segments.rollback()
        self.commits.rollback()
        self.forks = ForkIndex()
        self.overlay = CircleOverlay()
        self.circleRows = CircleRows()
        self.identifiers.rollback()
    }

    private func loadNumbers() throws(StoreError) {
        self.commits = CommitNumbers(last: try self.storedLastCommit())
        self.identifiers.next.object = try self.nextNumber(.nextObject)
        self.identifiers.next.name = try self.nextNumber(.nextName)
        self.identifiers.next.operation = try self.nextNumber(.nextOperation)
        self.identifiers.commit()
    }

    private func nextNumber(_ query: StoreQuery) throws(StoreError) -> Int64 {
        let number = try self.statements[query].first { $0.int64(0) } ?? 0
        guard (0...IdentifierCache.nextNumberMax).contains(number) else {
            throw .damaged("the rows of the database have numbers that were never given out")
        }
        return number
    }

    // MARK: - Numbers for ids

    package func existingObjectIndex(of id: ObjectID, in circle: CircleIndex) throws(StoreError) -> ObjectIndex? {
        let key = CircledObjectID(id, in: circle)
        if let index = self.identifiers.objects[key] { return index }
        guard let index = try self.statements[.objectByID].first(id, circle, read: { $0.object(0) }) else { return nil }
        self.identifiers.objects[key] = index
        return index
    }

    package func objectIndex(of id: ObjectID, in circle: CircleIndex) throws(StoreError) -> ObjectIndex {
        if let index = try self.existingObjectIndex(of: id, in: circle) { return index }
        try self.flushIfLarge()
        let index = ObjectIndex(rawValue: try SQLiteTransaction.take(&self.identifiers.next.object))
        self.objects.insertNew(ObjectRecord(id: id, circle: circle), at: index)
        self.identifiers.objects[CircledObjectID(id, in: circle)] = index
        return index
    }

    package func nameIndex(of name: String) throws(StoreError) -> NameIndex {
        let key = ExactText(name)
        if let index = self.identifiers.names[key] { return index }
        let index: NameIndex
        if let existing = try self.existingNameIndex(of: name) {
            index = existing
        } else {
            index = NameIndex(rawValue: try SQLiteTransaction.take(&self.identifiers.next.name))
            try self.statements[.insertName].run(index, name)
        }
        self.identifiers.names[key] = index
        return index
    }

    package func name(_ index: NameIndex) throws(StoreError) -> String {
        if let text = self.identifiers.nameTexts[index] { return text }
        guard let text = try self.statements[.nameByNumber].first(index, read: { $0.text(0) }) else {
            throw .damaged("name \(index.rawValue) is missing from the database")
        }
        self.identifiers.nameTexts[index] = text
        return text
    }

    /// Takes the next number of a kind.
    static func take(_ next: inout Int64) throws(StoreError) -> UInt32 {
        guard next < IdentifierCache.numberMax else { throw .unavailable("The workspace has too many ids.") }
        defer { next += 1 }
        return UInt32(next)
    }

    // MARK: - Facts

    package func fact(_ name: String) throws(StoreError) -> [UInt8]? {
        try self.statements[.fact].first(name) { $0.bytes(0) }
    }

    package func setFact(_ name: String, _ value: [UInt8]?) throws(StoreError) {
        guard let value else { return try self.statements[.deleteFact].run(name) }
        try self.statements[.setFact].run(name, value)
    }

    private static let readerFact = "reader"

    package func setReader(_ reader: CircleReader) throws(StoreError) {
        guard self.segments.circles.reader != reader else { return }
        try self.setFact(Self.readerFact, reader.user.bytes.array + reader.founder.bytes.array)
        self.segments.circles.reader = reader
    }

    private static let closedFact = "closed-circles"

    package func setClosedCircles(_ circles: Set<CircleIndex>) throws(StoreError) {
        var bytes: [UInt8] = []
        for index in circles.sorted() { self.circles[index].encode(to: &bytes) }
        try self.setFact(Self.closedFact, bytes.isEmpty ? nil : bytes)
        self.segments.circles.closed = circles
        self.overlay = CircleOverlay()
    }

    private func loadClosedCircles() throws(StoreError) {
        var reader = ByteReader(try self.fact(Self.closedFact) ?? [])
        while reader.remaining > 0, let circle = try? Circle(decoding: &reader) {
            if let index = self.circles.index(of: circle) { self.segments.circles.closed.insert(index) }
        }
        self.segments.commit()
    }

    /// Reads whose store it is, and what that user is sent nothing of any more.
    func loadReader() throws(StoreError) {
        try self.loadClosedCircles()
        guard let bytes = try self.fact(Self.readerFact), let user = Bytes32(Array(bytes.prefix(32))),
            let founder = Bytes32(Array(bytes.dropFirst(32)))
        else { return }
        self.segments.circles.reader = CircleReader(user: UserID(bytes: user), founder: UserID(bytes: founder))
    }

    package func clearDerivedState() throws(StoreError) {
        self.registers.removeAll()
        self.versions.removeAll()
        try self.flushObjects()
        for query in StoreQuery.clearDerived { try self.statements[query].run() }
        try self.statements[.clearObjects].run(self.takeCommit())
        self.listedNames = ListedNameBlocks()
        self.placements.areUnknown = true
    }
}
