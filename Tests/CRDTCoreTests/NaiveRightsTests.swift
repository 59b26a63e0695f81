import CRDTCore
import MergeModel
import Testing

private typealias Rights = NaiveRights
private typealias Role = NaiveRights.Role
private typealias Place = NaiveRights.StatementPlace

/// A circle, as its changes were written.
private struct Circle {
    private(set) var devices: [DeviceID: Rights.Device] = [:]
    private(set) var changes: [Rights.Change] = []
    /// The grants to each user, which his chains name as they begin.
    var grants: [UserID: Set<Place>] = [:]

    static let all: Set<Role> = [.manager, .writer, .reader]
    static let owner = Circle.user(0)

    static func user(_ number: UInt64) -> UserID { UserID(bytes: Circle.bytes(number)) }

    static func device(_ number: UInt64) -> DeviceID { DeviceID(bytes: Circle.bytes(number)) }

    private static func bytes(_ number: UInt64) -> Bytes32 {
        Bytes32((0..<32).map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 0 }) ?? .zero
    }

    var rights: Rights { Rights(owner: Circle.owner, devices: self.devices, changes: self.changes) }

    /// Adds a device of a user, which another one vouches for.
    mutating func add(_ number: UInt64, of user: UserID, by issuer: DeviceID? = nil, generation: Int = 1) -> DeviceID {
        let device = Circle.device(number)
        let issuers = issuer.map { [$0] + (self.devices[$0]?.issuers ?? []) } ?? []
        self.devices[device] = Rights.Device(user: user, issuers: issuers, generation: generation)
        return device
    }

    /// Writes a change; after none it begins a chain, under the grants that its user has.
    @discardableResult
    mutating func write(
        _ device: DeviceID,
        after previous: Int? = nil,
        _ statements: Rights.Statement...,
        under grants: Set<Place>? = nil
    ) -> Int {
        let user = self.devices[device]?.user
        let known = user.flatMap { self.grants[$0] } ?? []
        let under = previous == nil ? grants ?? known : []
        self.changes.append(Rights.Change(by: device, after: previous, statements, under: under))
        return self.changes.count - 1
    }

    /// Grants a role, under which chains begin from now on.
    @discardableResult
    mutating func grant(_ role: Role, to user: UserID, by device: DeviceID, after previous: Int? = nil) -> Int {
        let change = self.write(device, after: previous, .grant(user, role))
        self.grants[user, default: []].insert(Place(change))
        return change
    }

    /// Writes changes one after the other; returns their numbers.
    mutating func chain(_ device: DeviceID, _ count: Int, after previous: Int? = nil) -> [Int] {
        var (last, numbers) = (previous, [Int]())
        for _ in 0..<count {
            let number = self.write(device, after: last)
            (last, numbers) = (number, numbers + [number])
        }
        return numbers
    }
}

/// What has been agreed about circles, as the naive model says it.
struct NaiveRightsTests {
    /// An owner with a laptop, a phone and a tablet, each vouched for by the one before; two managers, and a writer.
    private struct World {
        var circle = Circle()
        let laptop, phone, tablet, first, second, writer: DeviceID
        let m = Circle.user(1)
        let n = Circle.user(2)
        let w = Circle.user(3)
        let last: Int
        var written: [Int]

        init() {
            self.laptop = self.circle.add(10, of: Circle.owner)
            self.phone = self.circle.add(11, of: Circle.owner, by: self.laptop)
            self.tablet = self.circle.add(12, of: Circle.owner, by: self.phone)
            self.first = self.circle.add(20, of: self.m)
            self.second = self.circle.add(30, of: self.n)
            self.writer = self.circle.add(40, of: self.w)
            let manager = self.circle.grant(.manager, to: self.m, by: self.laptop)
            let other = self.circle.grant(.manager, to: self.n, by: self.laptop, after: manager)
            self.last = self.circle.grant(.writer, to: self.w, by: self.laptop, after: other)
            self.written = self.circle.chain(self.writer, 40)
        }

        func count(_ changes: [Int]) -> Int {
            let rights = self.circle.rights
            return changes.count { rights.counts($0) }
        }
    }

    @Test(arguments: [10, 20])
    func `a removal cuts where it says, whatever came later`(seen: Int) {
        var world = World()
        let heads: Set = [world.written[seen - 1]]
        world.circle.write(world.laptop, after: world.last, .removal(world.w, Circle.all, heads: heads))
        #expect(world.count(world.written) == seen)
        let fork = world.circle.chain(world.writer, 3, after: world.written[2])
        #expect(world.count(fork) == 0)
        #expect(!world.circle.rights.reads(world.writer))
    }

    @Test func `a manager's purge lasts until the owner removes him with earlier heads`() {
        var world = World()
        let own = world.circle.chain(world.first, 3)
        world.circle.write(world.first, after: own[0], .removal(world.w, [.writer, .reader], heads: []))
        #expect(world.count(world.written) == 0)
        world.circle.write(world.second, .removal(world.m, Circle.all, heads: []))
        #expect(world.count(world.written) == 0, "an equal removes nobody")
        world.circle.write(world.laptop, after: world.last, .removal(world.m, Circle.all, heads: [own[2]]))
        #expect(world.count(world.written + own) == 43)
    }

    @Test func `equals do not remove each other`() {
        var world = World()
        let one = world.circle.write(world.first, .removal(world.n, Circle.all, heads: []))
        let two = world.circle.write(world.second, .removal(world.m, Circle.all, heads: []))
        let rights = world.circle.rights
        #expect(rights.counts(one, as: .manager) && rights.counts(two, as: .manager))
    }

    @Test func `who grants in spite of a removal has seen it, and stands no lower than who removed`() {
        var world = World()
        let heads: Set = [world.written[4]]
        let removal = world.circle.write(world.first, .removal(world.w, [.writer, .reader], heads: heads))
        world.circle.write(world.second, .grant(world.w, .writer))
        #expect(!world.circle.rights.reads(world.writer))
        let grant = world.circle.write(world.second, .grant(world.w, .writer, despite: [Place(removal)]))
        world.circle.grants[world.w] = [Place(grant)]
        let fresh = world.circle.chain(world.writer, 3)
        #expect(world.circle.rights.reads(world.writer))
        #expect(world.count(fresh) == 3 && world.count(world.written) == 5, "what was cut stays cut")
        let final = world.circle.write(world.laptop, after: world.last, .removal(world.w, Circle.all, heads: heads))
        world.circle.write(world.first, .grant(world.w, .writer, despite: [Place(final)]))
        #expect(!world.circle.rights.reads(world.writer), "a manager overrides no owner")
    }

    @Test func `a stolen phone goes with what it vouched for, and the devices that are kept stay`() {
        var world = World()
        let stranger = world.circle.add(13, of: Circle.owner, by: world.phone)
        let (thief, kept) = (world.circle.chain(world.phone, 4), world.circle.chain(world.tablet, 4))
        let foreign = world.circle.chain(stranger, 3)
        let purge = world.circle.write(world.phone, after: thief[3], .deviceRemoval(world.tablet, keep: [], heads: []))
        world.circle.write(world.phone, after: purge, .deviceRemoval(world.laptop, keep: [], heads: []))
        #expect(world.count(kept) == 0 && world.circle.rights.counts(world.last))
        let removal = Rights.Statement.deviceRemoval(world.phone, keep: [world.tablet], heads: [thief[1]])
        world.circle.write(world.laptop, after: world.last, removal)
        let rights = world.circle.rights
        #expect(thief.map { rights.counts($0) } == [true, true, false, false])
        #expect(world.count(kept) == 4 && world.count(foreign) == 0)
    }

    @Test func `the words outrank all devices`() {
        var world = World()
        let own = world.circle.chain(world.laptop, 3, after: world.last)
        let purge = world.circle.write(world.laptop, after: own[2], .removal(world.w, Circle.all, heads: []))
        let phone = world.circle.chain(world.phone, 4)
        world.circle.write(world.laptop, after: own[2], .deviceRemoval(world.phone, keep: [], heads: []))
        #expect(world.count(world.written + phone) == 0)
        let recovered = world.circle.add(14, of: Circle.owner, generation: 2)
        let keep: Set = [world.phone, world.tablet]
        world.circle.write(recovered, .deviceRemoval(world.laptop, keep: keep, heads: [own[2]]))
        #expect(world.count(world.written + phone + own) == 47)
        #expect(!world.circle.rights.counts(purge))
    }

    @Test func `a promotion takes nothing away, and revives nothing`() {
        var world = World()
        let bomb = world.circle.write(world.writer, after: world.written[39], .removal(world.m, Circle.all, heads: []))
        let offline = world.circle.chain(world.writer, 5, after: world.written[39])
        world.circle.grants[world.w] = []
        world.circle.grant(.manager, to: world.w, by: world.laptop, after: world.last)
        let rights = world.circle.rights
        #expect(world.count(world.written + offline) == 45)
        #expect(!rights.counts(bomb, as: .manager) && rights.reads(world.first))
        let fresh = world.circle.write(world.writer)
        #expect(world.circle.rights.counts(fresh, as: .manager))
    }

    @Test func `a writer of some properties writes these and nothing else`() {
        var world = World()
        let guest = Circle.user(4)
        let device = world.circle.add(50, of: guest)
        let grant = world.circle.write(world.first, .grant(guest, .writer, names: ["done"]))
        let change = world.circle.write(device, under: [Place(grant)])
        let rights = world.circle.rights
        #expect(rights.counts(change, writing: "done") && rights.counts(change, as: .reader))
        #expect(!rights.counts(change, writing: "title") && !rights.counts(change))
    }

    @Test func `who leaves is out, and a manager may take him back`() {
        var world = World()
        let heads: Set = [world.written[9]]
        let goodbye = Rights.Statement.removal(world.w, Circle.all, heads: heads)
        let leaving = world.circle.write(world.writer, after: world.written[9], goodbye)
        #expect(!world.circle.rights.reads(world.writer) && world.count(world.written) == 10)
        world.circle.write(world.second, .grant(world.w, .writer, despite: [Place(leaving)]))
        #expect(world.circle.rights.reads(world.writer))
    }

    // MARK: - Random circles

    /// Two devices of each of five users, of whom two are managers and two writers at first; they fork, grant and
    /// remove.
    fileprivate struct RandomCircle {
        var circle = Circle()
        var random: SplitMix64
        let users = (0..<5).map { Circle.user(UInt64($0)) }
        private var devices: [DeviceID] = []

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed)
            for (number, user) in self.users.enumerated() {
                let first = self.circle.add(UInt64(10 + 2 * number), of: user)
                self.devices += [first, self.circle.add(UInt64(11 + 2 * number), of: user, by: first)]
            }
            for (user, role) in zip(self.users[1...], [Role.manager, .manager, .writer, .writer]) {
                self.say(self.devices[0], [.grant(user, role)])
            }
            for _ in 0..<14 { self.saySomething(by: self.random.pick(self.devices)) }
        }

        func devices(of number: Int) -> [DeviceID] { Array(self.devices[(2 * number)..<(2 * number + 2)]) }

        /// Writes a change at the end of a device's last chain, on a fork of one, or on a new one.
        mutating func say(_ device: DeviceID, _ statements: [Rights.Statement], forks: Bool = false) {
            let own = self.circle.changes.indices.filter { self.circle.changes[$0].device == device }
            var change = Rights.Change(by: device, after: forks ? self.random.pick(own + [-1]) : own.last, statements)
            if own.isEmpty || self.random.chance(30) || change.previous == -1 {
                change.previous = nil
                for (place, statement) in self.said {
                    guard case .grant(let user, _, _, _) = statement, user == self.circle.devices[device]?.user else {
                        continue
                    }
                    if self.random.chance(80) { change.under.insert(place) }
                }
            }
            self.circle.append(change)
        }

        private var said: [(Place, Rights.Statement)] {
            self.circle.changes.enumerated().flatMap { number, change in
                change.statements.enumerated().map { (Place(number, $0.offset), $0.element) }
            }
        }

        mutating func heads(of user: UserID?) -> Set<Int> {
            var heads: Set<Int> = []
            for (number, change) in self.circle.changes.enumerated()
            where self.circle.devices[change.device]?.user == user && self.random.chance(50) {
                heads.insert(number)
            }
            return heads
        }

        mutating func saySomething(by device: DeviceID) {
            let user = self.random.pick(self.users)
            var statements: [Rights.Statement] = []
            switch self.random.below(100) {
            case ..<35:
                var despite: Set<Place> = []
                for case (let place, .removal(user, _, _)) in self.said where self.random.chance(60) {
                    despite.insert(place)
                }
                let role = self.random.pick([Role.manager, .writer, .reader])
                statements = [.grant(user, role, despite: despite)]
            case ..<60:
                let roles = self.random.pick([Set([Role.writer, .reader]), [.manager], Circle.all])
                statements = [.removal(user, roles, heads: self.heads(of: user))]
            case ..<75:
                let removed = self.random.pick(self.devices)
                var keep: Set<DeviceID> = []
                for other in self.devices where self.random.chance(10) { keep.insert(other) }
                let heads = self.heads(of: self.circle.devices[removed]?.user)
                statements = [.deviceRemoval(removed, keep: keep, heads: heads)]
            default: break
            }
            self.say(device, statements, forks: self.random.chance(30))
        }
    }

    @Test(arguments: Seeds.range(from: 91_000, count: 300))
    func `nobody is ruled by those who do not stand above him`(seed: UInt64) {
        let world = RandomCircle(seed: seed)
        let before = world.circle.rights
        let changes = world.circle.changes
        for (number, change) in changes.enumerated() where change.device == world.devices(of: 0)[0] {
            #expect(before.counts(number), "what the owner wrote on his first device counts")
        }
        // A member who never was a manager changes nobody else's verdicts, and a manager none of the owner's.
        for member in [1, 3] {
            var other = world
            for _ in 0..<6 { other.saySomething(by: other.random.pick(other.devices(of: member))) }
            let after = other.circle.rights
            let isManager = changes.indices.contains { number in
                before.counts(number, as: .manager) && changes[number].device.isOne(of: world.devices(of: member))
            }
            for (number, change) in changes.enumerated() where !change.device.isOne(of: world.devices(of: member)) {
                let isOwners = change.device.isOne(of: world.devices(of: 0))
                if isOwners || (!isManager && !world.wasGranted(.manager, member)) {
                    #expect(after.counts(number) == before.counts(number), "seed \(seed), change \(number)")
                }
            }
        }
    }

    @Test(arguments: Seeds.range(from: 92_000, count: 300))
    func `whom the owner has removed stays out, whatever all others say`(seed: UInt64) {
        var world = RandomCircle(seed: seed)
        let heads = world.heads(of: world.users[1])
        world.say(world.devices(of: 0)[0], [.removal(world.users[1], Circle.all, heads: heads)])
        for _ in 0..<8 { world.saySomething(by: world.random.pick(world.devices(of: world.random.below(4) + 1))) }
        let rights = world.circle.rights
        for (number, change) in world.circle.changes.enumerated()
        where change.device.isOne(of: world.devices(of: 1)) && !world.circle.isWithin(heads, number) {
            #expect(!rights.counts(number), "seed \(seed), change \(number)")
        }
        for device in world.devices(of: 1) { #expect(!rights.reads(device), "seed \(seed)") }
    }
}

extension DeviceID {
    fileprivate func isOne(of devices: [DeviceID]) -> Bool { devices.contains(self) }
}

extension NaiveRightsTests.RandomCircle {
    /// Whether somebody has ever granted a role, or a higher one, to a user.
    fileprivate func wasGranted(_ role: NaiveRights.Role, _ user: Int) -> Bool {
        self.circle.changes.contains { change in
            change.statements.contains {
                if case .grant(self.users[user], let granted, _, _) = $0 { granted <= role } else { false }
            }
        }
    }
}

extension Circle {
    fileprivate mutating func append(_ change: NaiveRights.Change) { self.changes.append(change) }

    fileprivate func isWithin(_ heads: Set<Int>, _ change: Int) -> Bool {
        heads.contains { head in
            var next: Int? = head
            while let current = next, current != change { next = self.changes[current].previous }
            return next != nil
        }
    }
}
