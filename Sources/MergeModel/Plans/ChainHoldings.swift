/// The changes of each chain that a peer has, by their places in the order in which they were written.
///
/// Mostly all up to some place; a peer that was put back and writes has its own new changes beyond those that it lost.
package struct ChainHoldings: Hashable, Sendable {
    package struct Place: Hashable, Sendable {
        package var chain: Int
        /// The number of changes that were written to the chain before.
        package var position: Int

        package init(chain: Int, position: Int) {
            self.chain = chain
            self.position = position
        }
    }

    /// The places up to which all of each chain is there.
    package private(set) var counts: [Int]
    private var others: Set<Place> = []

    package init(chainCount: Int) { self.counts = Array(repeating: 0, count: chainCount) }

    /// Adds a chain of which nothing is there.
    package mutating func addChain() { self.counts.append(0) }

    package func has(_ place: Place) -> Bool {
        place.position < self.counts[place.chain] || !self.others.isEmpty && self.others.contains(place)
    }

    package mutating func add(_ place: Place) {
        guard place.position == self.counts[place.chain] else {
            if place.position > self.counts[place.chain] { self.others.insert(place) }
            return
        }
        self.counts[place.chain] += 1
        guard !self.others.isEmpty else { return }
        while self.others.remove(Place(chain: place.chain, position: self.counts[place.chain])) != nil {
            self.counts[place.chain] += 1
        }
    }

    /// The first changes of a chain that are not there, in order, of `total` that exist.
    package func missing(of chain: Int, count: Int, total: Int) -> [Place] {
        var places: [Place] = []
        var position = self.counts[chain]
        while position < total, places.count < count {
            let place = Place(chain: chain, position: position)
            if !self.has(place) { places.append(place) }
            position += 1
        }
        return places
    }

    /// The changes that another has and this one has not, chain by chain from a first one on.
    package func missing(from other: ChainHoldings, first: Int) -> [Place] {
        var places: [Place] = []
        for number in self.counts.indices {
            let chain = (first + number) % self.counts.count
            for position in self.counts[chain]..<max(self.counts[chain], other.counts[chain]) {
                let place = Place(chain: chain, position: position)
                if !self.has(place) { places.append(place) }
            }
        }
        if !other.others.isEmpty {
            places += other.others.filter { !self.has($0) }
                .sorted { ($0.chain, $0.position) < ($1.chain, $1.position) }
        }
        return places
    }
}
