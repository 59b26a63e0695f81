import CRDTCore

/// Objects as the transaction sees them, until they are written.
struct ObjectOverlay {
    struct Entry {
        let index: ObjectIndex
        fileprivate(set) var record: ObjectRecord
        fileprivate var isChanged: Bool
        /// Whether the database does not hold the object at all.
        let isNew: Bool
        /// Whether the object stands elsewhere than in the database, so that the index of places must be changed.
        fileprivate(set) var isMoved: Bool
        /// The creation that the database has.
        fileprivate let storedCreation: WriteReference?

        /// Whether another creation decides what the object is than the one in the database, or that has another stamp.
        var isCreationChanged: Bool { self.storedCreation != self.record.creation?.write }
    }

    /// Where an object is held, until all are let go.
    struct Place: Equatable {
        fileprivate var position: Int
    }

    private var entries: [Entry] = []
    private var places: [ObjectIndex: Place] = [:]
    /// The object that was asked for last: operations on one follow each other.
    private var recent: (index: ObjectIndex, place: Place)?

    var count: Int { self.entries.count }

    subscript(place: Place) -> Entry { self.entries[place.position] }

    /// Where an object is held; nil if it is not.
    mutating func place(of index: ObjectIndex) -> Place? {
        if let recent = self.recent, recent.index == index { return recent.place }
        guard let place = self.places[index] else { return nil }
        self.recent = (index, place)
        return place
    }

    mutating func isNew(_ index: ObjectIndex) -> Bool { self.place(of: index).map { self[$0].isNew } ?? false }

    /// Holds an object that got its number in this transaction.
    mutating func insertNew(_ record: ObjectRecord, at index: ObjectIndex) {
        _ = self.insert(
            Entry(index: index, record: record, isChanged: true, isNew: true, isMoved: true, storedCreation: nil)
        )
    }

    /// Holds what the database has.
    mutating func note(_ record: ObjectRecord, at index: ObjectIndex) -> Place {
        let creation = record.creation?.write
        return self.insert(
            Entry(
                index: index,
                record: record,
                isChanged: false,
                isNew: false,
                isMoved: false,
                storedCreation: creation
            )
        )
    }

    private mutating func insert(_ entry: Entry) -> Place {
        let place = Place(position: self.entries.count)
        self.entries.append(entry)
        self.places[entry.index] = place
        self.recent = (entry.index, place)
        return place
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
        var positions = self.entries.indices.filter { self.entries[$0].isChanged }
        // Those that are new come in order.
        let isOrdered = zip(positions, positions.dropFirst()).allSatisfy {
            self.entries[$0].index.rawValue < self.entries[$1].index.rawValue
        }
        if !isOrdered {
            positions.sort { self.entries[$0].index.rawValue < self.entries[$1].index.rawValue }
        }
        return positions.map { Place(position: $0) }
    }

    mutating func removeAll() {
        self.entries.removeAll(keepingCapacity: true)
        self.places.empty()
        self.recent = nil
    }
}
