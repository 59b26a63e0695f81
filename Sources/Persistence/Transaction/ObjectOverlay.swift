import CRDTCore

/// Objects as the transaction sees them, until they are written.
struct ObjectOverlay {
    struct Entry {
        let index: ObjectIndex
        fileprivate(set) var record: ObjectRecord
        fileprivate var isChanged: Bool
        /// Whether the database does not hold the object at all.
        let isNew: Bool
        /// Whether the database may have properties of the object.
        fileprivate var mayHaveRegisters: Bool
        /// Whether the object stands elsewhere than in the database, so that the index of places must be changed.
        fileprivate(set) var isMoved: Bool
        /// What the database has.
        fileprivate let stored: Stored?

        fileprivate init(_ record: ObjectRecord, at index: ObjectIndex, isNew: Bool) {
            (self.index, self.record, self.isNew) = (index, record, isNew)
            (self.isChanged, self.isMoved, self.mayHaveRegisters) = (isNew, isNew, !isNew)
            self.stored = isNew ? nil : Stored(record)
        }

        /// Whether another creation decides what the object is than the one in the database, or that has another stamp.
        var isCreationChanged: Bool { self.stored?.record.creation?.write != self.record.creation?.write }
        /// Whether anything is another than in the database that hardly any write changes.
        var isTurned: Bool {
            self.isCreationChanged || self.stored?.record.isVisible != self.record.isVisible
                || self.stored?.record.openMove != self.record.openMove
                || self.stored?.record.otherOpenMoves != self.record.otherOpenMoves
        }
    }

    /// A record apart from its entry: a bulk merge holds many objects that the database does not have.
    fileprivate final class Stored {
        let record: ObjectRecord

        init(_ record: ObjectRecord) { self.record = record }
    }

    /// Where an object is held, until all are let go.
    struct Place: Equatable {
        fileprivate var position: Int
    }

    private var entries: [Entry] = []
    private var places = IndexTable()
    /// The object that was asked for last: operations on one follow each other.
    private var recent: (index: ObjectIndex, place: Place)?

    var count: Int { self.entries.count }

    subscript(place: Place) -> Entry { self.entries[place.position] }

    /// Where an object is held; nil if it is not.
    mutating func place(of index: ObjectIndex) -> Place? {
        if let recent = self.recent, recent.index == index { return recent.place }
        guard let position = self.places.position(of: UInt64(index.rawValue)) else { return nil }
        let place = Place(position: position)
        self.recent = (index, place)
        return place
    }

    /// Whether the database may have properties of an object.
    mutating func mayHaveRegisters(_ index: ObjectIndex) -> Bool {
        self.place(of: index).map { self.entries[$0.position].mayHaveRegisters } ?? true
    }

    /// Notes that properties of an object are written.
    mutating func noteRegisters(of index: ObjectIndex) {
        if let place = self.place(of: index) { self.entries[place.position].mayHaveRegisters = true }
    }

    /// Holds an object that got its number in this transaction.
    mutating func insertNew(_ record: ObjectRecord, at index: ObjectIndex) {
        _ = self.insert(Entry(record, at: index, isNew: true))
    }

    /// Holds what the database has.
    mutating func note(_ record: ObjectRecord, at index: ObjectIndex) -> Place {
        self.insert(Entry(record, at: index, isNew: false))
    }

    private mutating func insert(_ entry: Entry) -> Place {
        let place = Place(position: self.places.insert(UInt64(entry.index.rawValue)))
        self.entries.append(entry)
        self.recent = (entry.index, place)
        return place
    }

    /// Looks at the record of an object where it lies.
    func look<Result>(_ place: Place, _ body: (ObjectRecord) -> Result) -> Result {
        body(self.entries[place.position].record)
    }

    /// Changes the record of an object where it lies.
    mutating func update<Result>(_ place: Place, _ change: (inout ObjectRecord) -> Result) -> Result {
        let position = place.position
        let before = (parent: self.entries[position].record.parent, position: self.entries[position].record.position)
        let result = change(&self.entries[position].record)
        self.entries[position].isChanged = true
        let isElsewhere = before.parent != self.entries[position].record.parent
        if isElsewhere || before.position != self.entries[position].record.position {
            self.entries[position].isMoved = true
        }
        return result
    }

    /// Where that is held which has changed, in the order of the numbers.
    func changes() -> [Place] {
        self.entries.indices.filter { self.entries[$0].isChanged }
            // Those that are new come in order, which one pass of the sort finds.
            .sorted { self.entries[$0].index.rawValue < self.entries[$1].index.rawValue }
            .map { Place(position: $0) }
    }

    mutating func removeAll() {
        self.entries.removeAll(keepingCapacity: true)
        self.places = IndexTable()
        self.recent = nil
    }
}
