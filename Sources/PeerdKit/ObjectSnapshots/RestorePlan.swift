internal import CRDTCore
internal import Engine

/// The steps that make the objects of a snapshot what they were, against the state as it is.
///
/// Parents come before their children, so the steps can be written in several transactions: each leaves a tree in which
/// a part is restored, and a plan that is made then has the rest.
struct RestorePlan {
    private(set) var steps: [PlannedStep] = []
    /// The parent of the object at the top, if it cannot be put there.
    private(set) var missingParent: ObjectID?
    /// The number of properties whose values were not there when the snapshot was taken.
    let missingPropertyCount: Int
    private let members: Set<ObjectID>

    /// A step, and how much of a transaction it takes.
    struct PlannedStep {
        var step: Transaction.Step
        var operationCount: Int
        var byteCount: Int
        /// Whether it makes an object exist again.
        var isCreation = false
    }

    /// Siblings that are looked at to put some of them before others, at most; otherwise the rest goes to the end.
    private static let examinedCountMax = 200_000
    /// What one creation sets at most; further properties are set one by one.
    private static let createdPropertyCountMax = 1 << 10
    private static let createdByteCountMax = 1 << 20

    init(_ snapshot: SnapshotContent, in state: inout some StateReading) throws {
        self.members = Set(snapshot.objects.map(\.id))
        self.missingPropertyCount = snapshot.objects.reduce(0) { $0 + $1.missing.count }
        let elements = snapshot.inTreeOrder.map(\.element)
        var wanted: [ObjectID: [ObjectID]] = [:]
        for element in elements {
            guard element.id == snapshot.object else {
                if let parent = element.parent { wanted[parent, default: []].append(element.id) }
                try self.add(element, under: element.parent, in: &state)
                continue
            }
            try self.addTop(element, in: &state)
        }
        for element in elements {
            guard let children = wanted[element.id] else { continue }
            let (present, count) = try self.order(of: children, element.id, in: &state)
            self.arrange(children, under: element.id, from: present, siblingCount: count)
        }
    }

    // MARK: - Objects

    private mutating func addTop(_ element: SnapshotContent.Element, in state: inout some StateReading) throws {
        let present = try state.visibleObject(element.id)
        var parent = element.parent
        var isInPlace = true
        if let wanted = parent {
            if try self.canHold(wanted, in: &state) == false {
                self.missingParent = wanted
                isInPlace = false
                parent = try present.flatMap { try state.object($0).parent }
                    .map { try state.object($0).id }
                if let stays = parent, try !self.canHold(stays, in: &state) { parent = nil }
            }
        }
        try self.add(element, under: parent, in: &state)
        guard isInPlace else { return }
        let index = try parent.flatMap { try state.existingObjectIndex(of: $0) }
        try self.placeTop(element, under: parent, index, present: present, in: &state)
    }

    /// Puts the object at the top among siblings that are not in the snapshot, by the position that it had.
    private mutating func placeTop(
        _ element: SnapshotContent.Element,
        under parent: ObjectID?,
        _ parentIndex: ObjectIndex?,
        present: ObjectIndex?,
        in state: inout some StateReading
    ) throws {
        let place = SiblingPlace(position: element.position, id: element.id)
        let behind = try state.visibleChildren(of: parentIndex, after: place, limit: 2)
        let next = try behind.map { try state.object($0).id }.first { $0 != element.id }
        if let present, case let record = try state.object(present), record.parent == parentIndex {
            // Where it is, it may have that neighbour already.
            let place = SiblingPlace(position: record.position, id: element.id)
            let neighbour = try state.visibleChildren(of: parentIndex, after: place, limit: 1).first
            if try neighbour.map({ try state.object($0).id }) == next { return }
        } else if next == nil {
            // It comes last, where new ones and those from elsewhere are put.
            return
        }
        self.move(element.id, under: parent, before: next)
    }

    /// Makes an object exist with its properties, under a parent.
    private mutating func add(
        _ element: SnapshotContent.Element,
        under parent: ObjectID?,
        in state: inout some StateReading
    ) throws {
        guard let index = try state.visibleObject(element.id) else {
            return try self.create(element, under: parent, in: &state)
        }
        let present = try StateExport.properties(of: index, in: &state)
        for (name, json) in element.properties.sorted(by: { $0.key < $1.key }) {
            let value = Value(json)
            // Two values may have one form in an export.
            if let old = present[name], old == value || old.json == json { continue }
            self.set(element.id, name, value)
        }
        for name in try self.names(of: index, present, without: element, in: &state) {
            self.append(.unset(element.id, name: name.text), .unset(element.id, name: name.text))
        }
        let place = try state.object(index).parent.map { try state.object($0).id }
        if place != parent { self.move(element.id, under: parent, before: nil) }
    }

    /// The properties that an object has, and had not in the snapshot, in ascending order.
    ///
    /// What the snapshot could not have is none of them: it stays as it is.
    private func names(
        of index: ObjectIndex,
        _ present: [ExactText: Value],
        without element: SnapshotContent.Element,
        in state: inout some StateReading
    ) throws -> [ExactText] {
        let names = Set(present.keys).union(try state.missingProperties(of: index).map { ExactText($0) })
        return names.filter { element.properties[$0] == nil && !element.missing.contains($0) }.sorted()
    }

    private mutating func create(
        _ element: SnapshotContent.Element,
        under parent: ObjectID?,
        in state: inout some StateReading
    ) throws {
        var creation = Transaction.Creation(
            id: .given(element.id),
            type: element.type,
            kind: element.kind,
            parent: parent,
            keptNames: element.missing
        )
        var edits: [Edit] = [.create(element.id, type: element.type, kind: element.kind)]
        var later: [(name: ExactText, value: Value)] = []
        var byteCount = 0
        for (name, json) in element.properties.sorted(by: { $0.key < $1.key }) {
            let value = Value(json)
            let edit = Edit.set(element.id, name: name.text, value: value)
            byteCount += edit.byteCount
            let isFull = byteCount > Self.createdByteCountMax || edits.count > Self.createdPropertyCountMax
            if isFull, !creation.properties.isEmpty {
                later.append((name, value))
            } else {
                creation.properties[name] = value
                edits.append(edit)
            }
        }
        // What it held before its deletion is removed along with the creation.
        if let index = try state.existingObjectIndex(of: element.id) {
            let present = try StateExport.properties(of: index, in: &state)
            edits += try self.names(of: index, present, without: element, in: &state)
                .map { .unset(element.id, name: $0.text) }
            edits += later.filter { present[$0.name] != nil }.map { .unset(element.id, name: $0.name.text) }
        }
        edits.append(Self.move(element.id, under: parent))
        self.steps.append(
            PlannedStep(
                step: .create(creation),
                operationCount: edits.count,
                byteCount: edits.reduce(0) { $0 + $1.byteCount },
                isCreation: true
            )
        )
        for (name, value) in later { self.set(element.id, name, value) }
    }

    // MARK: - Order

    /// The children of an object as they will be after the steps so far, of those that the snapshot has there.
    private func order(
        of children: [ObjectID],
        _ parent: ObjectID,
        in state: inout some StateReading
    ) throws -> (order: [ObjectID], siblingCount: Int) {
        let wanted = Set(children)
        var present: [ObjectID] = []
        var siblingCount = children.count
        if let index = try state.existingObjectIndex(of: parent) {
            siblingCount += Int(try state.object(index).childCount)
            for child in try state.children(of: index) {
                let record = try state.object(child)
                if record.isVisible, wanted.contains(record.id) { present.append(record.id) }
            }
        }
        // Those that are created or moved there come last, in the order of their steps.
        let there = Set(present)
        return (present + children.filter { !there.contains($0) }, siblingCount)
    }

    /// Moves as few siblings as possible, so that they have the order of the snapshot.
    private mutating func arrange(
        _ wanted: [ObjectID],
        under parent: ObjectID,
        from present: [ObjectID],
        siblingCount: Int
    ) {
        guard wanted != present else { return }
        let ranks = Dictionary(uniqueKeysWithValues: wanted.enumerated().map { ($1, $0) })
        let kept = Set(LongestRise.of(present.compactMap { ranks[$0] }).map { wanted[$0] })
        let movedCount = wanted.count - kept.count
        guard movedCount <= max(1, Self.examinedCountMax / max(1, siblingCount)) else {
            let first = zip(wanted, present).prefix { $0 == $1 }.count
            for object in wanted[first...] { self.move(object, under: parent, before: nil) }
            return
        }
        // From the last on, so that the one behind each has its place already.
        for place in wanted.indices.reversed() where !kept.contains(wanted[place]) {
            let next = place + 1 < wanted.count ? wanted[place + 1] : nil
            self.move(wanted[place], under: parent, before: next)
        }
    }

    // MARK: - Steps

    private mutating func set(_ object: ObjectID, _ name: ExactText, _ value: Value) {
        self.append(
            .set(object, name: name.text, value: value),
            .set(object, name: name.text, value: value)
        )
    }

    private mutating func move(_ object: ObjectID, under parent: ObjectID?, before sibling: ObjectID?) {
        self.append(.move(object, parent: parent, before: sibling), Self.move(object, under: parent))
    }

    private mutating func append(_ step: Transaction.Step, _ edit: Edit) {
        self.steps.append(PlannedStep(step: step, operationCount: 1, byteCount: edit.byteCount))
    }

    /// A move with the longest position that is given out.
    private static func move(_ object: ObjectID, under parent: ObjectID?) -> Edit {
        let position = Position(bytes: [UInt8](repeating: 0, count: Limits.positionByteCountKept))
        return .move(object, Place(parent: parent, position: position))
    }

    /// Whether something exists that is neither in the snapshot nor below an object of it.
    ///
    /// What is put below it closes no circle.
    private func canHold(_ id: ObjectID, in state: inout some StateReading) throws -> Bool {
        guard var index = try state.visibleObject(id) else { return false }
        var watch = CycleWatch<ObjectIndex>()
        while true {
            let record = try state.object(index)
            if self.members.contains(record.id) { return false }
            guard let parent = record.parent else { return true }
            try watch.pass(parent)
            index = parent
        }
    }
}

/// A longest rising part of a sequence of different numbers.
enum LongestRise {
    /// - Complexity: O(*n* log *n*).
    static func of(_ numbers: [Int]) -> [Int] {
        // For each length, the place of the lowest number that ends a rise so long.
        var ends: [Int] = []
        var before = [Int?](repeating: nil, count: numbers.count)
        for (place, number) in numbers.enumerated() {
            let end = ends.firstPosition { numbers[$0] >= number }
            before[place] = end > 0 ? ends[end - 1] : nil
            if end == ends.count { ends.append(place) } else { ends[end] = place }
        }
        var rise: [Int] = []
        var next = ends.last
        while let place = next {
            rise.append(numbers[place])
            next = before[place]
        }
        return rise.reversed()
    }
}
