internal import CRDTCore
internal import Persistence

/// The files of a database that the production store has just made: to make one takes as long as many a short run, and
/// comes out the same in each but for the workspace it is of.
struct BlankDatabase {
    private let image: DiskImage
    /// Where the origin lies: the name's place in `image`, and the offset.
    private let place: (file: Int, offset: Int)

    /// Made by the store itself when it is first wanted; nil if the origin cannot be told apart in it.
    private static let made: BlankDatabase? = BlankDatabase()

    /// A disk image of a database of a workspace that nothing was written to; nil if it has to be made anew.
    static func image(origin: Hash256) -> DiskImage? {
        guard let made = BlankDatabase.made else { return nil }
        var image = made.image
        let end = made.place.offset + Bytes32.byteCount
        image.files[made.place.file].content.replaceSubrange(made.place.offset..<end, with: origin.bytes.array)
        return image
    }

    private init?() {
        var generator = LossGenerator(seed: 1)
        guard let marker = Bytes32(generator.bytes(Bytes32.byteCount)) else { return nil }
        let disk = SimulatedDisk(seed: 1)
        let fileSystem = VirtualFileSystem(disk: disk, seed: 1)
        let made = try? SQLiteStore(virtual: fileSystem.database(), origin: Hash256(bytes: marker))
        guard var store = made else { return nil }
        store.close()
        self.image = disk.image()
        var places: [(file: Int, offset: Int)] = []
        let wanted = marker.array.map { $0 }
        for (number, file) in self.image.files.enumerated() where file.content.count >= wanted.count {
            for offset in 0...file.content.count - wanted.count
            where file.content[offset] == wanted[0] && Array(file.content[offset..<offset + wanted.count]) == wanted {
                places.append((number, offset))
            }
        }
        // A log would carry checksums over what is replaced.
        guard self.image.files.count == 1, places.count == 1 else { return nil }
        self.place = places[0]
    }
}
