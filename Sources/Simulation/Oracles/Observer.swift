internal import CRDTCore
internal import Engine
internal import PeerdKit
internal import Persistence

/// Follows what changes in a scope of one machine, as an application does that keeps an index of its own.
///
/// Its process and its index survive whatever happens to the machine: kills, power cuts, disks that lose what they
/// promised to keep, and databases that are put back.
struct Observer {
    private let scope: Scope
    private var position = DeltaReading.Position.start
    private var objects: [ObjectID: Object] = [:]

    init(_ scope: Scope) { self.scope = scope }

    /// Reads on to the state of the moment.
    ///
    /// Returns how what is known then differs from it, in words; nil if it does not.
    mutating func catchUp(in transaction: inout SQLiteTransaction) throws -> String? {
        // Who reads does not matter to the state.
        let reading = DeltaReading(scope: self.scope, workspace: 1, device: DeviceID(bytes: .zero))
        // Of a transaction that fails nothing is taken in.
        var next = self
        while true {
            let (delta, position) = try reading.delta(after: next.position, in: &transaction)
            next.position = position
            guard let delta else { break }
            delta.apply(to: &next.objects)
            if !delta.hasMore { break }
        }
        self = next
        let expected = try Self.objects(of: self.scope, in: &transaction)
        if expected == self.objects { return nil }
        let ids = Set(expected.keys).union(self.objects.keys).sorted()
        let id = ids.first { expected[$0] != self.objects[$0] }
        return "object \(id?.description ?? "?") is \(Self.text(expected, id)), and was told to be "
            + Self.text(self.objects, id)
    }

    private static func text(_ objects: [ObjectID: Object], _ id: ObjectID?) -> String {
        guard let object = id.flatMap({ objects[$0] }) else { return "not there" }
        let properties = object.properties.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return "under \(object.parent?.description ?? "the root") with \(properties.joined(separator: " "))"
    }

    private static func objects(
        of scope: Scope,
        in transaction: inout SQLiteTransaction
    ) throws(StoreError) -> [ObjectID: Object] {
        let indices: [ObjectIndex]
        if case .subtree(let id) = scope {
            guard let root = try transaction.existingObjectIndex(of: id) else { return [:] }
            indices = try StateExport.subtree(root, in: &transaction)
        } else {
            indices = try transaction.visibleObjects()
        }
        var found: [ObjectID: Object] = [:]
        for index in indices {
            let object = try Object(index, in: &transaction)
            found[object.id] = object
        }
        return found
    }
}

extension World {
    /// What observers have put together is the state, whatever has happened to the machine.
    ///
    /// One machine has them, since it takes time.
    func checkObservers(of machine: Machine) {
        guard machine.number == 0, machine.hostile == nil, !self.isShared else { return }
        let first = machine.observers.isEmpty
        let found = self.read(machine) { transaction throws(StoreError) -> ([Observer], String?) in
            var observers = machine.observers
            if first {
                observers = [Observer(.everything)]
                if let top = try transaction.visibleChildren(of: nil, after: nil, limit: 1).first {
                    observers.append(Observer(.subtree(try transaction.object(top).id)))
                }
            }
            var difference: String?
            for number in observers.indices {
                do {
                    let found = try observers[number].catchUp(in: &transaction)
                    difference = difference ?? found
                } catch let error as StoreError {
                    throw error
                } catch {
                    difference = "\(error)"
                }
            }
            return (observers, difference)
        }
        guard let (observers, difference) = found else { return }
        // The second comes with the first object.
        machine.observers = observers.count < 2 ? [] : observers
        self.note(.observation, difference, on: machine)
    }
}
