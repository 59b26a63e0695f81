import CRDTCore
import MergeModel
import SyncProtocol
import Testing

@testable import Engine

/// Random days of three people with five machines: who reads a circle has all of it, and nobody has anything of one
/// that was never shared with him.
struct SharedSyncWalkTests {
    /// One such day.
    private final class Walk {
        let network = TestNetwork()
        var random: SplitMix64
        private(set) var machines: [Int] = []
        /// Those that another one of their users' has removed.
        private(set) var removed: Set<Int> = []
        /// What was done, for the message of a failed test.
        private(set) var deeds: [String] = []
        private static let secondsMax = 8

        init(seed: UInt64) throws {
            self.random = SplitMix64(seed: seed)
            self.network.discovers = true
            self.network.carriesBeacons = true
            var entropy = TestNetwork.entropy(seed)
            guard let identity = DeviceIdentity.founding(name: "laptop", entropy: &entropy) else {
                throw TestFailure("no identity")
            }
            let laptop = try self.network.add(identity, seed: seed &+ 1)
            let phone = try self.network.join(laptop, name: "phone", seed: seed &+ 2)
            let ann = try self.network.join(laptop, name: "ann's laptop", person: "ann", seed: seed &+ 3)
            let bob = try self.network.join(laptop, name: "bob's laptop", person: "bob", seed: seed &+ 4)
            self.network.settle(seconds: 60)
            let second = try self.network.join(ann, name: "ann's phone", seed: seed &+ 5)
            self.machines = [laptop, phone, ann, bob, second]
            self.network.settle(seconds: 60)
        }

        private var users: [UserID] { self.machines.map { self.network.users[$0].user } }

        /// The objects that a user sees.
        private func objects(_ machine: Int) throws -> [ObjectID] {
            try self.network.machines[machine].node.read { transaction throws(StoreError) in
                var state = CombinedState(.present, of: transaction)
                var ids: [ObjectID] = []
                for index in try state.visibleObjects() { ids.append(try state.object(index).id) }
                return ids.sorted()
            }
        }

        /// Somebody does something; what he may not do, or what cannot be, is refused.
        func step() throws {
            let machine = self.machines[self.random.below(self.machines.count)]
            let objects = try self.objects(machine)
            func any() -> ObjectID? { objects.isEmpty ? nil : objects[self.random.below(objects.count)] }
            let deed = self.random.below(26)
            do {
                switch deed {
                case 0..<5:
                    let title = [ExactText("title"): Value.int(Int64(self.random.below(100)))]
                    let parent = self.random.below(3) == 0 ? nil : any()
                    try self.network.write(machine, .create(.init(type: "note", parent: parent, properties: title)))
                case 5..<8:
                    guard let object = any() else { return }
                    try self.network.write(machine, .set(object, name: "title", value: .int(Int64(deed))))
                case 8..<11:
                    guard let object = any() else { return }
                    let parent = self.random.below(4) == 0 ? nil : any()
                    try self.network.write(machine, .move(object, parent: parent, before: nil))
                case 11:
                    guard let object = any() else { return }
                    try self.network.write(machine, .delete(object))
                case 12..<15:
                    guard let object = any() else { return }
                    let user = self.users[self.random.below(self.users.count)]
                    let role = Role.allCases[self.random.below(3)]
                    let names = role == .writer && self.random.below(3) == 0 ? ["salary"] : nil
                    // Who could do more before loses that first.
                    for _ in 0..<2 {
                        try self.network.write(machine) { local throws(WriteRefusal) in
                            _ = try local.share(object, with: user, as: role, names: names)
                        }
                    }
                case 15:
                    guard let object = any() else { return }
                    let user = self.users[self.random.below(self.users.count)]
                    try self.network.write(machine) { local throws(WriteRefusal) in
                        try local.unshare(object, with: user)
                    }
                case 18, 19:
                    guard let object = any() else { return }
                    try self.network.write(machine, .set(object, name: "salary", value: .int(Int64(deed))))
                case 20, 21:
                    guard let object = any() else { return }
                    let name = ["title", "salary"][self.random.below(2)]
                    try self.network.write(machine) { local throws(WriteRefusal) in
                        if deed == 20 { try local.hide(name, of: object) } else { try local.unhide(name, of: object) }
                    }
                case 22:
                    guard let object = any() else { return }
                    let user = self.users[self.random.below(self.users.count)]
                    let role = [Role.reader, .writer][self.random.below(2)]
                    try self.network.write(machine) { local throws(WriteRefusal) in
                        _ = try local.share("salary", of: object, with: user, as: role)
                    }
                case 23 where self.random.below(8) == 0: try self.remove(by: machine)
                case 16: self.network.cut(machine, self.machines[self.random.below(self.machines.count)])
                case 17: self.network.healAll()
                default: self.network.settle(seconds: UInt64(self.random.below(Self.secondsMax)))
                }
                self.deeds.append("\(machine): \(deed)")
            } catch is WriteRefusal {
                self.deeds.append("\(machine): \(deed) refused")
            }
        }

        /// Somebody's first machine removes his second one, which goes on as if nothing were.
        private func remove(by machine: Int) throws {
            let device = self.network.machines[machine].node.identity.device
            let other = self.machines.first { other in
                self.network.machines[other].node.identity.certificates.dropFirst().contains { $0.device == device }
            }
            guard let other, !self.removed.contains(machine) else { return }
            let lost = self.network.machines[other].node.identity.device
            try self.network.write(machine) { local throws(WriteRefusal) in _ = try local.remove(device: lost) }
            self.removed.insert(other)
        }

        func settle() {
            self.network.healAll()
            self.network.settle(seconds: 600)
        }

        /// What a machine knows of a circle: all of its changes, and who has a right to read it.
        struct Known: Equatable {
            var frontier: Frontier
            var readers: Set<UserID>
        }

        func known(_ machine: Int) throws -> [Circle: Known] {
            let founder = self.network.users[machine].founder
            return try self.network.machines[machine].node.read { transaction throws(StoreError) in
                var known: [Circle: Known] = [:]
                for number in 0..<UInt32(transaction.circles.count) {
                    let index = CircleIndex(rawValue: number)
                    let frontier = try Frontier(of: &transaction, within: CircleScope([index]))
                    guard !frontier.entries.isEmpty else { continue }
                    let circle = transaction.circles[index]
                    var readers: Set<UserID> = [circle.owner(founder: founder)]
                    for (_, grant) in transaction.rights.rights(in: index)?.standingGrants() ?? [] {
                        readers.insert(grant.user)
                    }
                    known[circle] = Known(frontier: frontier, readers: readers)
                }
                return known
            }
        }

        /// Whether anybody was ever given anything in a circle.
        func wasEverGranted(_ user: UserID, in circle: Circle) throws -> Bool {
            for machine in self.machines {
                let isGranted = try self.network.machines[machine].node.read { transaction throws(StoreError) in
                    guard let index = transaction.circles.index(of: circle) else { return false }
                    return transaction.rights.rights(in: index)?.hasGranted(user) ?? false
                }
                if isGranted { return true }
            }
            return false
        }

        /// Whether a user was given something in a circle that its owner does not let him read now.
        func wasCutOff(_ user: UserID) throws -> Bool {
            for machine in self.machines {
                for (circle, known) in try self.known(machine) where !known.readers.contains(user) {
                    if try self.wasEverGranted(user, in: circle) { return true }
                }
            }
            return false
        }

        /// What a user sees, object by object.
        func seen(_ machine: Int) throws -> [ObjectID: VisibleObject] {
            try self.network.machines[machine].node.read { transaction throws(StoreError) in
                var state = CombinedState(.present, of: transaction)
                return try VisibleObject.all(of: &state)
            }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `everybody has what he may read, and nothing else`(seed: UInt64) throws {
        let walk = try Walk(seed: seed &* 1_000)
        for _ in 0..<100 { try walk.step() }
        walk.settle()
        let told = Comment("seed \(seed): \(walk.deeds.joined(separator: ", "))")
        let known = try Dictionary(uniqueKeysWithValues: walk.machines.map { ($0, try walk.known($0)) })
        let users = walk.network.users
        for machine in walk.machines {
            let violations = walk.network.machines[machine].notices.filter {
                if case .protocolViolation = $0 { true } else { false }
            }
            #expect(violations == [], told)
            // Who was told of something, and then was not to have it any more, does not get it.
            let connections = walk.network.machines[machine].node.connections.values
            let untoldCount = connections.reduce(0) { $0 + $1.session.unknownEntryCount }
            #expect(try untoldCount == 0 || walk.wasCutOff(users[machine].user), told)
            for (circle, own) in known[machine] ?? [:] where circle != .roster {
                let owner = circle.owner(founder: users[machine].founder)
                let isMine = try owner == users[machine].user || walk.wasEverGranted(users[machine].user, in: circle)
                #expect(isMine, told)
                // All who may read it, by the word of its owner, have all of it.
                guard owner == users[machine].user else { continue }
                guard !walk.removed.contains(machine) else { continue }
                for other in walk.machines
                where own.readers.contains(users[other].user) && !walk.removed.contains(other) {
                    #expect(known[other]?[circle] == own, told)
                }
            }
        }
        /// Whether a user may still read all that a machine has, by the word of the owners.
        func readsAll(_ machine: Int) -> Bool {
            (known[machine] ?? [:]).keys.allSatisfy { circle in
                let owner = circle.owner(founder: users[machine].founder)
                let one = walk.machines.first { users[$0].user == owner && !walk.removed.contains($0) }
                guard circle != .roster, let one else { return true }
                return known[one]?[circle]?.readers.contains(users[machine].user) ?? false
            }
        }
        let standing = walk.machines.filter { !walk.removed.contains($0) }
        for machine in standing where readsAll(machine) {
            for other in standing
            where other > machine && users[other].user == users[machine].user && readsAll(other) {
                let (left, right) = (try walk.seen(machine), try walk.seen(other))
                let differing = Set(left.keys).union(right.keys).filter { left[$0] != right[$0] }
                let lines = differing.map { id in
                    "\n\(id): \(left[id].map { "\($0)" } ?? "nothing") | \(right[id].map { "\($0)" } ?? "nothing")"
                }
                #expect(left == right, "\(machine), \(other)\(lines.joined())\n\(told)")
            }
        }
    }
}
