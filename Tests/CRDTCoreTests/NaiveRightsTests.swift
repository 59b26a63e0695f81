import CRDTCore
import MergeModel
import Testing

private typealias Rights = NaiveRights
private typealias Role = NaiveRights.Role
private typealias Place = NaiveRights.StatementPlace

/// What has been agreed about circles, as the naive model says it.
struct NaiveRightsTests {
    /// An owner with a laptop, a phone and a tablet, each vouched for by the one before; two managers, and a writer.
    private struct World {
        var circle = WrittenCircle()
        let laptop, phone, tablet, first, second, writer: DeviceID
        let m = WrittenCircle.user(1)
        let n = WrittenCircle.user(2)
        let w = WrittenCircle.user(3)
        let last: Int
        var written: [Int]

        init() {
            self.laptop = self.circle.add(10, of: WrittenCircle.owner)
            self.phone = self.circle.add(11, of: WrittenCircle.owner, by: self.laptop)
            self.tablet = self.circle.add(12, of: WrittenCircle.owner, by: self.phone)
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
        world.circle.write(world.laptop, after: world.last, .removal(world.w, WrittenCircle.all, heads: heads))
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
        world.circle.write(world.second, .removal(world.m, WrittenCircle.all, heads: []))
        #expect(world.count(world.written) == 0, "an equal removes nobody")
        world.circle.write(world.laptop, after: world.last, .removal(world.m, WrittenCircle.all, heads: [own[2]]))
        #expect(world.count(world.written + own) == 43)
    }

    @Test func `equals do not remove each other`() {
        var world = World()
        let one = world.circle.write(world.first, .removal(world.n, WrittenCircle.all, heads: []))
        let two = world.circle.write(world.second, .removal(world.m, WrittenCircle.all, heads: []))
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
        let final = world.circle.write(
            world.laptop,
            after: world.last,
            .removal(world.w, WrittenCircle.all, heads: heads)
        )
        world.circle.write(world.first, .grant(world.w, .writer, despite: [Place(final)]))
        #expect(!world.circle.rights.reads(world.writer), "a manager overrides no owner")
    }

    @Test func `a stolen phone goes with what it vouched for, and the devices that are kept stay`() {
        var world = World()
        let stranger = world.circle.add(13, of: WrittenCircle.owner, by: world.phone)
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
        let purge = world.circle.write(world.laptop, after: own[2], .removal(world.w, WrittenCircle.all, heads: []))
        let phone = world.circle.chain(world.phone, 4)
        world.circle.write(world.laptop, after: own[2], .deviceRemoval(world.phone, keep: [], heads: []))
        #expect(world.count(world.written + phone) == 0)
        let recovered = world.circle.add(14, of: WrittenCircle.owner, generation: 2)
        let keep: Set = [world.phone, world.tablet]
        world.circle.write(recovered, .deviceRemoval(world.laptop, keep: keep, heads: [own[2]]))
        #expect(world.count(world.written + phone + own) == 47)
        #expect(!world.circle.rights.counts(purge))
    }

    @Test func `a promotion takes nothing away, and revives nothing`() {
        var world = World()
        let bomb = world.circle.write(
            world.writer,
            after: world.written[39],
            .removal(world.m, WrittenCircle.all, heads: [])
        )
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
        let guest = WrittenCircle.user(4)
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
        let goodbye = Rights.Statement.removal(world.w, WrittenCircle.all, heads: heads)
        let leaving = world.circle.write(world.writer, after: world.written[9], goodbye)
        #expect(!world.circle.rights.reads(world.writer) && world.count(world.written) == 10)
        world.circle.write(world.second, .grant(world.w, .writer, despite: [Place(leaving)]))
        #expect(world.circle.rights.reads(world.writer))
    }

    // MARK: - Random circles

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
        world.say(world.devices(of: 0)[0], [.removal(world.users[1], WrittenCircle.all, heads: heads)])
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
