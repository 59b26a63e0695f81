internal import CRDTCore
internal import PeerCrypto

/// Edits of one circle.
struct CircleEdits {
    var circle: Circle
    var edits: [Edit]
}

/// In which circles a transaction writes: an object is made in the circle of its parent, and edited where it is.
extension TransactionPlan {
    /// The circle that an object belongs to, with this transaction's steps on top.
    func circle(
        of object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Circle {
        if let birthplace = self.birthplaces[object] { return birthplace }
        return try WriteRefusal.from { () throws(StoreError) -> Circle in
            guard let index = try transaction.existingObjectIndex(of: object) else { return self.base }
            return try transaction.circles[transaction.object(index).circle]
        }
    }

    /// The circles beside that of an object in which a property of it is hidden, the one that shows first.
    func circles(
        beside object: ObjectID,
        holding name: String,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> [Circle] {
        guard self.only == nil, transaction.circles.hasBeside else { return [] }
        return try WriteRefusal.from { () throws(StoreError) -> [Circle] in
            guard let index = try transaction.existingObjectIndex(of: object),
                let number = try transaction.existingNameIndex(of: name)
            else { return [] }
            var circles: [Circle] = []
            for beside in try transaction.besides(index, holding: number) {
                circles.append(try transaction.circles[transaction.object(beside).circle])
            }
            return circles
        }
    }

    /// The value of a property in the circle of its object, whatever shows in its place.
    func value(
        of name: String,
        inCircleOf object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Value? {
        try WriteRefusal.from { () throws(StoreError) -> Value? in
            guard let index = try transaction.existingObjectIndex(of: object),
                let number = try transaction.existingNameIndex(of: name)
            else { return nil }
            return try transaction.valueInCircle(of: number, on: index)
        }
    }

    /// What a write to a property comes to: a write in the circle of its object, or in the one where it is hidden.
    ///
    /// What is taken away is taken away from both, and stays hidden. Two machines may have hidden it in several circles
    /// of their user: one of them keeps it.
    private func parts(
        of edit: Edit,
        _ name: String,
        of object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> [CircleEdits] {
        let circle = try self.circle(of: object, in: &transaction)
        let besides = try self.circles(beside: object, holding: name, in: &transaction)
        guard let beside = besides.first else { return [CircleEdits(circle: circle, edits: [edit])] }
        let others = besides.dropFirst().filter { $0.isOwned(by: self.user) }
        var parts = others.map { CircleEdits(circle: $0, edits: [.unset(object, name: name)]) }
        guard case .unset = edit else { return [CircleEdits(circle: beside, edits: [edit])] + parts }
        parts.insert(CircleEdits(circle: beside, edits: [.set(object, name: name, value: .null)]), at: 0)
        if try self.value(of: name, inCircleOf: object, in: &transaction) != nil {
            parts.append(CircleEdits(circle: circle, edits: [edit]))
        }
        return parts
    }

    /// The circle that an object is made in.
    func birthplace(
        of creation: Transaction.Creation,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Circle {
        if let circle = creation.circle { return circle }
        return try self.circle(below: creation.parent, in: &transaction)
    }

    /// The circle that things below an object belong to as they are made; nil is the root.
    func circle(
        below parent: ObjectID?,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Circle {
        guard let parent else { return self.base }
        return try self.circle(of: parent, in: &transaction)
    }

    func id(
        of creation: Transaction.Creation,
        in circle: Circle,
        entropy: inout EntropyStream,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> ObjectID {
        switch creation.id {
        case .given(let object): return object
        case .key(let key):
            // What was made in home keeps its id in whatever circle it is by now.
            let object = ObjectID(of: self.user, key: key, type: creation.type, in: self.namespace)
            if circle == .home { return object }
            if try self.isVisible(object, in: &transaction) { return object }
            let namespace = ObjectID(namespaceOf: circle, home: self.namespace)
            return ObjectID(of: self.user, key: key, type: creation.type, in: namespace)
        case .random:
            while true {
                let object = ObjectID(of: self.user, nonce: entropy.nextUInt64())
                let isNew = try WriteRefusal.from { () throws(StoreError) in
                    try transaction.existingObjectIndex(of: object) == nil
                }
                if isNew, !self.living.contains(object), !self.deleted.contains(object) { return object }
            }
        }
    }

    /// Whether an object that is put below something of a circle goes over into it.
    ///
    /// What stands at the root of another circle does not: who reads that goes on reading it, and it is only placed. If
    /// it is this user's, and nobody else reads it any more, it goes along into what others read.
    func leavesCircle(
        _ object: ObjectID,
        for target: Circle,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Bool {
        let circle = try self.circle(of: object, in: &transaction)
        guard circle != target else { return false }
        if circle == self.base { return true }
        if try self.hasParent(object, in: circle, in: &transaction) { return true }
        guard target != self.base, circle.isOwned(by: self.user), let index = transaction.circles.index(of: circle)
        else { return false }
        return !self.shared.contains(index)
    }

    /// Whether an object stands below another one of its circle.
    func hasParent(
        _ object: ObjectID,
        in circle: Circle,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Bool {
        if let place = self.place(putFor: object) {
            guard let parent = place else { return false }
            return try self.circle(of: parent, in: &transaction) == circle
        }
        if self.birthplaces[object] != nil { return false }
        return try self.standsBelow(object, in: circle, in: &transaction)
    }

    /// Moves an object, with what is below it in its circle, to another circle: it is made there as it is now, and
    /// deleted here.
    ///
    /// In parts, what there is no room for stays where it was, below what has gone. Where the object itself has gone
    /// already, what is left of it goes. Parents go first.
    ///
    /// - Returns: how many objects have gone, and whether that was all.
    /// - Throws: `WriteRefusal` with `compacted` if a value is not here.
    @discardableResult
    mutating func transfer(
        _ top: ObjectID,
        to target: Circle,
        inParts: Bool = false,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> (count: Int, isWhole: Bool) {
        var source = try self.circle(of: top, in: &transaction)
        if inParts, source == target { source = self.base }
        guard source != target else { return (0, true) }
        self.left.insert(source)
        var count = 0
        for member in try self.subtree(of: top, in: &transaction) {
            let isHere = try self.circle(of: member, in: &transaction) == source
            guard isHere, !self.deleted.contains(member) else { continue }
            let object = try TransferredObject(member, of: self, in: &transaction)
            if inParts, count > 0, !self.hasRoom(forByteCount: object.byteCount, object.properties.count) {
                return (count, false)
            }
            try self.append(.create(member, type: object.type, kind: object.kind), in: target)
            // What somebody has written there meanwhile competed with what shows, and is later: it comes into force.
            let competing = try self.competingNames(for: member, in: target, in: &transaction)
            // What it holds there still competes as what it was, and not with the move.
            let held = try self.heldValues(of: member, in: target, in: &transaction)
            for (name, value) in object.properties.sorted(by: { $0.key < $1.key })
            where !competing.contains(name) && held[name] != value {
                try self.append(.set(member, name: name.text, value: value), in: target)
            }
            // It may have been there before, and have been something else.
            for name in held.keys.sorted() where object.properties[name] == nil && !competing.contains(name) {
                try self.append(.unset(member, name: name.text), in: target)
            }
            // Parents come first. What stands below something else goes to the root: its readers do not know of that.
            var place = Place.initial
            if member != top, try self.circle(below: object.place.parent, in: &transaction) == target {
                place = object.place
            }
            try self.append(.move(member, place), in: target)
            try self.append(.delete(member), in: source)
            try self.deleteTwins(of: member, besides: target, in: &transaction)
            try self.hideAlone(member, in: &transaction)
            self.birthplaces[member] = target
            count += 1
        }
        return (count, true)
    }

    /// Whether an object has room that goes over with so many bytes and properties, and some statements beside it.
    private func hasRoom(forByteCount byteCount: Int, _ propertyCount: Int) -> Bool {
        self.hasRoom(
            forByteCount: byteCount + Self.sparedByteCount,
            operationCount: 3 * (propertyCount + 1) + Self.sparedOperationCount
        )
    }

    /// What a transfer in parts leaves free.
    private static let sparedByteCount = 256 << 10
    private static let sparedOperationCount = 512

    /// Takes what this user hides on an object out of the circles where others read it: who reads the object where it
    /// goes is not who read it where it was.
    private mutating func hideAlone(
        _ object: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) {
        guard transaction.circles.hasBeside, self.only == nil else { return }
        let user = self.user
        let held = try WriteRefusal.from { () throws(StoreError) -> [(Circle, [(name: String, value: Value)])] in
            guard let index = try transaction.existingObjectIndex(of: object) else { return [] }
            var held: [(Circle, [(name: String, value: Value)])] = []
            for beside in try transaction.besides(index) {
                let circle = try transaction.circles[transaction.object(beside).circle]
                guard circle.isOwned(by: user) else { continue }
                held.append((circle, try transaction.properties(of: beside)))
            }
            return held
        }
        var known: Set<ExactText> = []
        for (circle, properties) in held {
            // What shows comes first, and stays if it is there already.
            if circle == .hidden(by: user) { known.formUnion(properties.map { ExactText($0.name) }) }
            for (name, value) in properties where circle != .hidden(by: user) {
                if known.insert(ExactText(name)).inserted {
                    let shown = self.values[object]?[ExactText(name)].map { $0 ?? .null } ?? value
                    try self.append(.set(object, name: name, value: shown), in: .hidden(by: user))
                }
                try self.append(.unset(object, name: name), in: circle)
            }
        }
    }

    /// Deletes an object in the circles of this user where it lives besides the one where it shows.
    ///
    /// Machines that moved it at once leave it in several. None of them cleans up by itself, since another one may
    /// know of further circles; what the user does with the object he does with all that is left of it.
    /// - Returns: in how many circles that is.
    @discardableResult
    mutating func deleteTwins(
        of object: ObjectID,
        besides circle: Circle,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Int {
        guard self.only == nil, transaction.circles.count > 1, self.birthplaces[object] == nil else { return 0 }
        let user = self.user
        let circles = try WriteRefusal.from { () throws(StoreError) -> [Circle] in
            guard let index = try transaction.existingObjectIndex(of: object) else { return [] }
            var circles: [Circle] = []
            for twin in try transaction.twins(of: index, by: user) {
                circles.append(try transaction.circles[transaction.object(twin).circle])
            }
            return circles
        }
        let others = circles.filter { $0 != circle }
        for other in others { try self.append(.delete(object), in: other) }
        return others.count
    }

    /// Deletes the twins of an object, and of what shows below it.
    ///
    /// - Returns: whether there were any.
    mutating func deleteTwins(
        below top: ObjectID,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Bool {
        var count = 0
        for member in try self.subtree(of: top, in: &transaction) {
            let circle = try self.circle(of: member, in: &transaction)
            count += try self.deleteTwins(of: member, besides: circle, in: &transaction)
        }
        return count > 0
    }

    /// The properties of an object that are in force in a circle that it was moved from, since they were written there
    /// meanwhile, and that this transaction has not written.
    private func competingNames(
        for object: ObjectID,
        in circle: Circle,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Set<ExactText> {
        let names = try WriteRefusal.from { () throws(StoreError) -> Set<ExactText> in
            guard let shown = try transaction.existingObjectIndex(of: object) else { return [] }
            var names: Set<ExactText> = []
            for left in try transaction.leftWrites(behind: shown) where left.isInForce && left.name != .place {
                guard try transaction.circles[transaction.object(left.object).circle] == circle else { continue }
                names.insert(ExactText(try transaction.name(left.name)))
            }
            return names
        }
        return names.filter { self.values[object]?[$0] == nil }
    }

    /// What an object of a circle holds, be it shown or not.
    private func heldValues(
        of object: ObjectID,
        in circle: Circle,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> [ExactText: Value] {
        try WriteRefusal.from { () throws(StoreError) -> [ExactText: Value] in
            guard let number = transaction.circles.index(of: circle),
                let index = try transaction.existingObjectIndex(of: object, in: number)
            else { return [:] }
            var values: [ExactText: Value] = [:]
            for name in try StateExport.properties(of: index, in: &transaction).keys {
                // What is hidden is nothing that the circle says.
                guard let number = try transaction.existingNameIndex(of: name.text),
                    let value = try transaction.valueInCircle(of: number, on: index)
                else { continue }
                values[name] = value
            }
            return values
        }
    }

    /// The edits by the circles that they are made in.
    ///
    /// What was left for another circle comes last, and the base: so whoever takes one after the other back sees what
    /// was there in each step.
    ///
    /// What stands at the root of a circle is placed among other things by the base, where it does not live: a circle
    /// says nothing of others to its readers.
    func parts(in transaction: inout some CircleReading) throws(WriteRefusal) -> [CircleEdits] {
        if self.base == .home, self.birthplaces.isEmpty, self.circles.isEmpty, transaction.circles.count == 1 {
            return [CircleEdits(circle: .home, edits: self.edits)]
        }
        var parts: [Circle: [Edit]] = [:]
        var order: [Circle] = []
        func add(_ edit: Edit, in circle: Circle) {
            if parts[circle] == nil { order.append(circle) }
            parts[circle, default: []].append(edit)
        }
        for (number, edit) in self.edits.enumerated() {
            if let circle = self.circles[number] {
                add(edit, in: circle)
                continue
            }
            guard let object = edit.subject else {
                // Branches are of home alone.
                if case .branch = edit, self.base != .home { throw .notPermitted(.role(.writer), nil) }
                add(edit, in: self.base)
                continue
            }
            if let name = edit.writtenName {
                for part in try self.parts(of: edit, name, of: object, in: &transaction) {
                    for edit in part.edits { add(edit, in: part.circle) }
                }
                continue
            }
            let circle = try self.circle(of: object, in: &transaction)
            guard case .move(_, let place) = edit, circle != self.base else {
                add(edit, in: circle)
                continue
            }
            let above = try self.circle(below: place.parent, in: &transaction)
            if above == circle {
                add(edit, in: circle)
            } else {
                if try self.standsBelow(object, in: circle, in: &transaction) {
                    add(.move(object, .initial), in: circle)
                }
                add(edit, in: self.base)
                add(.delete(object), in: self.base)
            }
        }
        if let base = order.firstIndex(of: self.base) { order.append(order.remove(at: base)) }
        order = order.filter { !self.left.contains($0) } + order.filter { self.left.contains($0) }
        return order.map { CircleEdits(circle: $0, edits: parts[$0] ?? []) }
    }

    /// Whether what is stored of an object stands below another one in its circle.
    private func standsBelow(
        _ object: ObjectID,
        in circle: Circle,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) -> Bool {
        try WriteRefusal.from { () throws(StoreError) -> Bool in
            guard let number = transaction.circles.index(of: circle),
                let index = try transaction.existingObjectIndex(of: object, in: number)
            else { return false }
            // What it stands below there may not show any more, and something else in its place.
            return try transaction.parentInCircle(of: index) != nil
        }
    }
}

extension Edit {
    /// The property that it writes.
    fileprivate var writtenName: String? {
        switch self {
        case .set(_, let name, _), .unset(_, let name): name
        default: nil
        }
    }

    /// The object that it is about; nil for statements about changes and timelines.
    fileprivate var subject: ObjectID? {
        if case .erase(let erasure) = self { erasure.object } else { self.object }
    }
}

/// An object as it goes over into another circle.
private struct TransferredObject {
    var type = ""
    var kind = ""
    var place: Place
    var properties: [ExactText: Value]

    /// About what its values and names take in a transaction.
    var byteCount: Int {
        self.properties.reduce(self.type.utf8.count + self.kind.utf8.count) { total, property in
            total + property.key.text.utf8.count + property.value.encoded.count + 64
        }
    }

    init(
        _ object: ObjectID,
        of plan: TransactionPlan,
        in transaction: inout some CircleReading
    ) throws(WriteRefusal) {
        self.properties = try plan.properties(of: object, in: &transaction)
        // What is hidden stays where it is, and shows in the place of what comes over.
        for name in self.properties.keys {
            if try !plan.circles(beside: object, holding: name.text, in: &transaction).isEmpty {
                self.properties[name] = nil
            }
        }
        self.place = try Place(parent: plan.place(of: object, in: &transaction), position: .initial)
        if let kinds = plan.kinds[object] { (self.type, self.kind) = kinds }
        let isNew = plan.kinds[object] != nil
        let stored = try WriteRefusal.from { () throws(StoreError) -> (type: String, kind: String, Position)? in
            guard let index = try transaction.existingObjectIndex(of: object) else { return nil }
            guard try transaction.missingProperties(of: index).isEmpty else { throw .compacted }
            let record = try transaction.object(index)
            guard let creation = record.creation else { return ("", "", record.position) }
            return try (transaction.name(creation.type), transaction.name(creation.kind), record.position)
        }
        if let stored {
            if !isNew { (self.type, self.kind) = (stored.type, stored.kind) }
            self.place.position = stored.2
        }
        if let position = plan.position(putFor: object) { self.place.position = position }
    }
}
