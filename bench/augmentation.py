"""The field's augmentation in torchvision, for the peers that decode pictures; files that end early are read as far as they go."""

from PIL import ImageFile
from torchvision import transforms as T

ImageFile.LOAD_TRUNCATED_IMAGES = True
NORMALIZE = T.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
AUGMENT = T.Compose(
    [
        T.RandomResizedCrop(224, scale=(0.7, 1.0)),
        T.RandomHorizontalFlip(),
        T.ColorJitter(0.3, 0.3, 0.3, 0.3),
        T.RandomGrayscale(),
        T.ToTensor(),
        NORMALIZE,
    ]
)
