internal import CRDTCore
internal import PeerCrypto

/// Turns what a local caller wants into operations, against the state as it is.
///
/// Nothing is written here: a plan that fails leaves no trace.
struct TransactionPlan {
    private(set) var edits: [Edit] = []
    /// The circles of edits whose object does not say it, by their places.
    private(set) var circles: [Int: Circle] = [:]
    /// The circles that this transaction takes objects out of.
    var left: Set<Circle> = []
    /// The circle in which this only clears away what others read there no more, which nobody takes back by itself.
    var leftover: Circle?
    /// The circle that all edits are made in; nil where their objects say it.
    var only: Circle?
    /// Where this transaction makes objects.
    var birthplaces: [ObjectID: Circle] = [:]
    private(set) var created: [ObjectID] = []
    private var byteCount = 0
    /// Whether it takes a change back, or does it again.
    private var isUndo = false
    /// The last position given out under each parent in this transaction.
    private var lastPositions: [ObjectID?: Position] = [:]
    /// Where this transaction put objects.
    private var places: [ObjectID: ObjectID?] = [:]
    private var positions: [ObjectID: Position] = [:]
    /// What this transaction set, or nil where it took a value away.
    private(set) var values: [ObjectID: [ExactText: Value?]] = [:]
    /// Objects that this transaction has put something below.
    private var parents: Set<ObjectID> = []
    /// Types and kinds of what this transaction made.
    private(set) var kinds: [ObjectID: (type: String, kind: String)] = [:]
    /// Objects that this transaction made or wrote to, and those it deleted.
    private(set) var living: Set<ObjectID> = []
    private(set) var deleted: Set<ObjectID> = []
    /// The namespace of ids derived from keys in home.
    let namespace: ObjectID
    /// The circle that objects are made in where nothing else says it.
    let base: Circle
    /// What the change has seen besides all that it is written on: what it merges.
    var seen = SeenSegments()
    /// What it gives up, and so names, whether it has named that before or not.
    var closed = SeenSegments()
    let user: UserID
    /// The circles in which others have been granted something.
    var shared: Set<CircleIndex> = []

    /// - Parameters:
    ///   - namespace: the namespace of ids derived from keys.
    ///   - user: whose ids new objects get.
    ///   - base: the circle that objects are made in where nothing else says it.
    init(namespace: ObjectID, user: UserID, base: Circle = .home) {
        (self.namespace, self.user, self.base) = (namespace, user, base)
    }

    /// Plans one step.
    mutating func add(
        _ step: Transaction.Step,
        entropy: inout EntropyStream,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) {
        switch step {
        case .create(let creation): try self.create(creation, entropy: &entropy, in: &transaction)
        case .set(let object, let name, let value):
            try self.requireVisible(object, in: &transaction)
            try self.set(object, name: name, value: value)
        case .unset(let object, let name):
            try self.requireVisible(object, in: &transaction)
            try self.check(name, what: "a property name")
            try self.unset(object, name: name)
        case .move(let object, let parent, let before):
            try self.move(object, under: parent, before: before, in: &transaction)
        case .delete(let object): try self.delete(object, in: &transaction)
        }
    }

    // MARK: - Steps

    private mutating func create(
        _ creation: Transaction.Creation,
        entropy: inout EntropyStream,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) {
        try self.check(creation.type, what: "a type")
        try self.check(creation.kind, what: "a kind")
        if let parent = creation.parent { try self.requireVisible(parent, in: &transaction) }
        let circle = try self.birthplace(of: creation, in: &transaction)
        let object = try self.id(of: creation, in: circle, entropy: &entropy, in: &transaction)
        let exists = try self.isVisible(object, in: &transaction)
        if !exists {
            self.birthplaces[object] = circle
            try self.append(.create(object, type: creation.type, kind: creation.kind))
            try self.noteKind(of: object, creation, in: &transaction)
            try self.clearEarlierLife(of: object, for: creation, in: &transaction)
        }
        self.created.append(object)
        self.living.insert(object)
        self.deleted.remove(object)
        for (name, value) in creation.properties.sorted(by: { $0.key < $1.key }) {
            try self.set(object, name: name.text, value: value)
        }
        // What stands at the root has an order too: new ones come last. What is there already keeps its place.
        var isInPlace = exists
        if exists, let parent = creation.parent { isInPlace = try self.place(of: object, in: &transaction) == parent }
        if !isInPlace { try self.move(object, under: creation.parent, before: nil, in: &transaction) }
    }

    /// An object that is made again begins anew: what it held before its deletion does not come back with it.
    private mutating func clearEarlierLife(
        of object: ObjectID,
        for creation: Transaction.Creation,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) {
        for name in try self.propertyNames(of: object, in: &transaction)
        where creation.properties[name] == nil && !creation.keptNames.contains(name) {
            try self.unset(object, name: name.text)
        }
    }

    /// The first creation of an object makes it what it is.
    private mutating func noteKind(
        of object: ObjectID,
        _ creation: Transaction.Creation,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) {
        let isKnown = try WriteRefusal.from { () throws(StoreError) -> Bool in
            guard let index = try transaction.existingObjectIndex(of: object) else { return false }
            return try transaction.object(index).creation != nil
        }
        if !isKnown, self.kinds[object] == nil { self.kinds[object] = (creation.type, creation.kind) }
    }

    mutating func set(_ object: ObjectID, name: String, value: Value) throws(WriteRefusal) {
        try self.check(name, what: "a property name")
        if value.encoded.count > Limits.valueByteCountMax {
            throw .tooLarge(what: "a value, in bytes", limit: Limits.valueByteCountMax)
        }
        try self.append(.set(object, name: name, value: value))
        self.values[object, default: [:]][ExactText(name)] = .some(value)
        self.living.insert(object)
    }

    mutating func unset(_ object: ObjectID, name: String) throws(WriteRefusal) {
        try self.append(.unset(object, name: name))
        self.values[object, default: [:]][ExactText(name)] = .some(nil)
    }

    private mutating func move(
        _ object: ObjectID,
        under parent: ObjectID?,
        before sibling: ObjectID?,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) {
        try self.requireVisible(object, in: &transaction)
        if object == parent { throw .wouldCloseCycle(object) }
        // A tree that is made from the top is not climbed for each object.
        if try self.canHaveChildren(object, in: &transaction),
            try self.wouldCloseCycle(object, under: parent, in: &transaction)
        {
            throw .wouldCloseCycle(object)
        }
        if let parent { try self.requireVisible(parent, in: &transaction) }
        let position = try self.position(of: object, before: sibling, under: parent, in: &transaction)
        try self.place(object, under: parent, at: position, in: &transaction)
    }

    /// Puts an object that shows below a parent that shows, in whose circle it goes over if that is another.
    mutating func place(
        _ object: ObjectID,
        under parent: ObjectID?,
        at position: Position,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) {
        let target = try self.circle(below: parent, in: &transaction)
        if try self.leavesCircle(object, for: target, in: &transaction) {
            try self.transfer(object, to: target, in: &transaction)
        }
        try self.put(object, under: parent, at: position)
    }

    // MARK: - Edits that restore what was

    /// Says what the transaction is about.
    mutating func note(_ undo: Undo) throws(WriteRefusal) {
        self.isUndo = true
        try self.append(.undo(undo))
    }

    /// Whether an edit has room, and behind it so many deletions of one object each.
    func hasRoom(for edit: Edit, before deletionCount: Int) -> Bool {
        let deletions = deletionCount * Edit.delete(ObjectID(bytes: Bytes16(high: 0, low: 0))).byteCount
        return self.byteCount + edit.byteCount + deletions <= self.byteCountMax
            && self.edits.count + 1 + deletionCount <= self.operationCountMax
    }

    /// Whether edits of so many bytes have room.
    func hasRoom(forByteCount byteCount: Int, operationCount: Int) -> Bool {
        self.byteCount + byteCount <= self.byteCountMax
            && self.edits.count + operationCount <= self.operationCountMax
    }

    /// Says something about a branch.
    mutating func note(_ statement: BranchStatement) throws(WriteRefusal) { try self.append(.branch(statement)) }

    /// Asks that what was written to a property so far is erased, once the property is written again.
    mutating func note(_ erasure: Erasure, in circle: Circle) throws(WriteRefusal) {
        try self.append(.erase(erasure), in: circle)
    }

    /// Makes an object live again with the properties and the place that are recorded of it.
    mutating func revive(_ object: ObjectID, type: String, kind: String) throws(WriteRefusal) {
        try self.append(.create(object, type: type, kind: kind))
        self.living.insert(object)
        self.deleted.remove(object)
    }

    /// Whether this transaction has made an object live, or written to it.
    func revives(_ object: ObjectID) -> Bool { self.living.contains(object) }

    /// Deletes one object, and nothing below it.
    mutating func deleteAlone(_ object: ObjectID) throws(WriteRefusal) {
        try self.append(.delete(object))
        self.deleted.insert(object)
        self.living.remove(object)
    }

    /// The parent that this transaction has given an object: nil if it has not moved it, and within that for the root.
    func place(putFor object: ObjectID) -> ObjectID?? { self.places[object] }

    /// The position that this transaction has given an object.
    func position(putFor object: ObjectID) -> Position? { self.positions[object] }

    /// Whether an object would be below itself if it stood under a parent.
    func wouldCloseCycle(
        _ object: ObjectID,
        under parent: ObjectID?,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Bool {
        guard let parent else { return false }
        return try self.isBelow(object, parent, in: &transaction)
    }

    /// Returns false if nothing stored names an object, and this transaction has put nothing below it.
    private func canHaveChildren(
        _ object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Bool {
        if self.parents.contains(object) { return true }
        return try WriteRefusal.from { () throws(StoreError) in
            try transaction.existingObjectIndex(of: object) != nil
        }
    }

    mutating func put(
        _ object: ObjectID,
        under parent: ObjectID?,
        at position: Position
    ) throws(WriteRefusal) {
        self.places[object] = .some(parent)
        if let parent { self.parents.insert(parent) }
        self.positions[object] = position
        if self.lastPositions[parent].map({ $0 < position }) ?? false { self.lastPositions[parent] = position }
        try self.append(.move(object, Place(parent: parent, position: position)))
    }

    private mutating func delete(
        _ object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) {
        try self.requireVisible(object, in: &transaction)
        let top = try self.circle(of: object, in: &transaction)
        for member in try self.subtree(of: object, in: &transaction) where !self.deleted.contains(member) {
            let circle = try self.circle(of: member, in: &transaction)
            if circle.outlives(top, deletedBy: self.user) { continue }
            try self.append(.delete(member))
            try self.deleteTwins(of: member, besides: circle, in: &transaction)
            self.deleted.insert(member)
            self.living.remove(member)
        }
    }

    /// An object and what shows below it, with this transaction's moves.
    func subtree(
        of object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> [ObjectID] {
        var below = try WriteRefusal.from { () throws(StoreError) -> [ObjectID] in
            guard let index = try transaction.existingObjectIndex(of: object) else { return [] }
            var ids: [ObjectID] = []
            for member in try StateExport.subtree(index, in: &transaction) {
                ids.append(try transaction.object(member).id)
            }
            return ids
        }
        // What this transaction itself put elsewhere, or below, differs from what the store knows.
        below = below.filter { $0 == object || self.places[$0] == nil }
        for member in self.places.keys.sorted() where !below.contains(member) {
            if try self.isBelow(object, member, in: &transaction) { below.append(member) }
        }
        if !below.contains(object) { below.insert(object, at: 0) }
        return below
    }

    // MARK: - The state with this transaction's steps on top

    /// The values of an object, whether it shows or not.
    func properties(
        of object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> [ExactText: Value] {
        var properties = try WriteRefusal.from { () throws(StoreError) -> [ExactText: Value] in
            guard let index = try transaction.existingObjectIndex(of: object) else { return [:] }
            return try StateExport.properties(of: index, in: &transaction)
        }
        for (name, value) in self.values[object] ?? [:] { properties[name] = value }
        return properties
    }

    /// The names of the properties of an object that have a value, or may have one that is missing, in ascending order.
    func propertyNames(
        of object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> [ExactText] {
        var names = Set(try self.properties(of: object, in: &transaction).keys)
        let missing = try WriteRefusal.from { () throws(StoreError) -> [String] in
            guard let index = try transaction.existingObjectIndex(of: object) else { return [] }
            return try transaction.missingProperties(of: index)
        }
        for name in missing.map({ ExactText($0) }) where self.values[object]?[name] == nil { names.insert(name) }
        return names.sorted()
    }

    private func isBelow(
        _ ancestor: ObjectID,
        _ object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Bool {
        var current: ObjectID? = object
        var watch = CycleWatch<ObjectID>()
        while let member = current {
            if member == ancestor { return true }
            try WriteRefusal.from { () throws(StoreError) in try watch.pass(member) }
            current = try self.place(of: member, in: &transaction)
        }
        return false
    }

    func place(
        of object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> ObjectID? {
        if let place = self.places[object] { return place }
        return try WriteRefusal.from { () throws(StoreError) -> ObjectID? in
            guard let index = try transaction.existingObjectIndex(of: object),
                let parent = try transaction.object(index).parent
            else { return nil }
            return try transaction.object(parent).id
        }
    }

    func isVisible(
        _ object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Bool {
        if self.living.contains(object) { return true }
        if self.deleted.contains(object) { return false }
        return try WriteRefusal.from { () throws(StoreError) -> Bool in
            guard let index = try transaction.existingObjectIndex(of: object) else { return false }
            return try transaction.object(index).isVisible
        }
    }

    private func requireVisible(
        _ object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) {
        guard try self.isVisible(object, in: &transaction) else { throw .noSuchObject(object) }
    }

    private func lastPosition(
        under parent: ObjectID?,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Position? {
        if let position = self.lastPositions[parent] { return position }
        return try WriteRefusal.from { () throws(StoreError) -> Position? in
            guard let parent else { return try transaction.lastPosition(under: nil) }
            guard let index = try transaction.existingObjectIndex(of: parent) else { return nil }
            return try transaction.lastPosition(under: index)
        }
    }

    /// The position of an object that is put before a sibling, or behind all.
    ///
    /// If it would be long, siblings are given new ones.
    private mutating func position(
        of object: ObjectID,
        before sibling: ObjectID?,
        under parent: ObjectID?,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Position {
        if sibling == nil {
            let last = try self.lastPosition(under: parent, in: &transaction)
            let position = Position.between(last, nil)
            self.lastPositions[parent] = position
            if position.bytes.count <= Limits.positionByteCountKept { return position }
        }
        if let sibling, let position = try self.room(for: object, before: sibling, under: parent, in: &transaction) {
            return position
        }
        let siblings = try self.siblings(of: object, under: parent, in: &transaction)
        var place = siblings.count
        if let sibling {
            guard let found = siblings.firstIndex(where: { $0.id == sibling }) else { throw .notASibling(sibling) }
            place = found
        }
        guard let insertion = SiblingOrder.insertion(at: place, among: siblings.map(\.position)) else {
            throw .tooLarge(what: "siblings that must move to make room", limit: SiblingOrder.renewedCountMax)
        }
        if place == siblings.count { self.lastPositions[parent] = insertion.position }
        for renewal in insertion.renewed {
            try self.put(siblings[renewal.place].id, under: parent, at: renewal.position)
        }
        return insertion.position
    }

    /// A position right before a sibling, without a look at the other ones, of which there may be very many.
    ///
    /// Nil if this transaction has moved anything, if there is no room, or if the sibling is none.
    private func room(
        for object: ObjectID,
        before sibling: ObjectID,
        under parent: ObjectID?,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Position? {
        guard self.places.isEmpty, self.deleted.isEmpty else { return nil }
        return try WriteRefusal.from { () throws(StoreError) -> Position? in
            guard let index = try transaction.existingObjectIndex(of: sibling) else { return nil }
            let next = try transaction.object(index)
            let parentID = try next.parent.map { above throws(StoreError) in try transaction.object(above).id }
            guard next.isVisible, parentID == parent, sibling != object else { return nil }
            var before = next
            repeat {
                let place = SiblingPlace(position: before.position, id: before.id)
                guard let previous = try transaction.visibleChild(of: next.parent, before: place) else {
                    return Self.room(after: nil, before: next.position)
                }
                before = try transaction.object(previous)
            } while before.id == object
            return Self.room(after: before.position, before: next.position)
        }
    }

    private static func room(after previous: Position?, before next: Position) -> Position? {
        let positions = (previous.map { [$0] } ?? []) + [next]
        let insertion = SiblingOrder.insertion(at: positions.count - 1, among: positions)
        return insertion.flatMap { $0.renewed.isEmpty ? $0.position : nil }
    }

    /// The others that show under a parent, in their order, with this transaction's moves.
    func siblings(
        of object: ObjectID?,
        under parent: ObjectID?,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> [(id: ObjectID, position: Position)] {
        var siblings = try WriteRefusal.from { () throws(StoreError) -> [(id: ObjectID, position: Position)] in
            var index: ObjectIndex?
            if let parent {
                index = try transaction.existingObjectIndex(of: parent)
                if index == nil { return [] }
            }
            var shown: [(id: ObjectID, position: Position)] = []
            for child in try transaction.children(of: index) {
                let record = try transaction.object(child)
                if record.isVisible { shown.append((record.id, record.position)) }
            }
            return shown
        }
        if !self.places.isEmpty || !self.deleted.isEmpty {
            siblings.removeAll { self.places[$0.id] != nil || self.deleted.contains($0.id) }
            for (id, place) in self.places where place == parent && !self.deleted.contains(id) {
                siblings.append((id, self.positions[id] ?? .initial))
            }
            siblings.sort { $0.position == $1.position ? $0.id < $1.id : $0.position < $1.position }
        }
        siblings.removeAll { $0.id == object }
        return siblings
    }

    func check(_ name: String, what: String) throws(WriteRefusal) {
        guard name.utf8.count <= Limits.nameByteCountMax else {
            throw .tooLarge(what: what + ", in bytes", limit: Limits.nameByteCountMax)
        }
    }

    /// `circle`: the one that it is made in; nil for that of its object, or home.
    mutating func append(_ edit: Edit, in circle: Circle? = nil) throws(WriteRefusal) {
        self.byteCount += edit.byteCount
        guard self.byteCount <= self.byteCountMax else {
            throw .tooLarge(what: "a transaction, in bytes", limit: self.byteCountMax)
        }
        guard self.edits.count < self.operationCountMax else {
            throw .tooLarge(what: "a transaction, in operations", limit: self.operationCountMax)
        }
        if let circle = circle ?? self.only { self.circles[self.edits.count] = circle }
        self.edits.append(edit)
    }

    /// Adds the edits of a plan of one circle, which are a change by themselves that is within all limits.
    mutating func add(_ other: TransactionPlan) {
        for edit in other.edits {
            if let circle = other.only { self.circles[self.edits.count] = circle }
            self.byteCount += edit.byteCount
            self.edits.append(edit)
        }
    }

    private var byteCountMax: Int { self.isUndo ? Limits.undoByteCountMax : Limits.transactionByteCountMax }

    private var operationCountMax: Int {
        self.isUndo ? Limits.undoOperationCountMax : Limits.transactionOperationCountMax
    }
}

extension WriteRefusal {
    /// Runs store calls, and turns what they throw into a refusal.
    static func from<Result>(_ body: () throws(StoreError) -> Result) throws(WriteRefusal) -> Result {
        do throws(StoreError) {
            return try body()
        } catch {
            throw .store(error)
        }
    }
}
