import CRDTCore

@testable import Engine

/// What a user sees, put together from all circles.
struct ShownObject: Hashable {
    var id: ObjectID
    var circle: Circle
    var parent: ObjectID?
    var properties: [String: Value] = [:]
}

extension TestNetwork {
    /// Each object with its parent, its properties and the circle that it is in, in the order of the tree.
    func tree(_ machine: Int) throws -> [ShownObject] {
        try self.machines[machine].node.read { transaction throws(StoreError) in
            var state = CombinedState(.present, of: transaction)
            var (shown, open): ([ShownObject], [ObjectIndex]) = ([], [])
            open = try state.visibleChildren(of: nil, after: nil, limit: .max).reversed()
            while let next = open.popLast() {
                let record = try state.object(next)
                var item = ShownObject(id: record.id, circle: state.circles[record.circle])
                item.parent = try record.parent.map { above throws(StoreError) in try state.object(above).id }
                for (name, value) in try state.properties(of: next) { item.properties[name] = value }
                shown.append(item)
                open += try state.visibleChildren(of: next, after: nil, limit: .max).reversed()
            }
            return shown
        }
    }

    /// What lives in each circle by itself, or has values in one that lies beside others, whatever shows.
    func lives(_ machine: Int) throws -> Set<ShownObject> {
        try self.machines[machine].node.read { transaction throws(StoreError) in
            var lives: Set<ShownObject> = []
            for number in 0..<transaction.circles.count {
                let circle = CircleIndex(rawValue: UInt32(number))
                var state = CombinedState(.present, of: transaction, only: circle)
                for index in try state.visibleObjects() {
                    let record = try state.object(index)
                    guard record.circle == circle else { continue }
                    var item = ShownObject(id: record.id, circle: state.circles[circle])
                    item.parent = try record.parent.map { above throws(StoreError) in try state.object(above).id }
                    for (name, value) in try state.properties(of: index) { item.properties[name] = value }
                    // What lies beside others has values alone.
                    if item.circle.isBeside, item.properties.isEmpty { continue }
                    lives.insert(item)
                }
            }
            return lives
        }
    }
}
